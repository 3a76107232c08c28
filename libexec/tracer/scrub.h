/* Decides which part of the kernel's events a user may see: the user's own traced threads, and nothing of
 * any other thread. All other threads are the thread 0, without a name and with the priority of an
 * idle thread. A change between two threads that are not traced, and the addresses of the kernel's
 * timers, do not leave.
 *
 * A user who asks for causes also gets: the system calls, page faults and interrupts of the own
 * threads; when an own thread has waited for a CPU, which kind of threads had it, and how many of
 * the same or a higher rank; who has ended the wait of an own thread for a lock, if that is an own
 * thread or a thread of the same process. */
#ifndef RTF_SCRUB_H
#define RTF_SCRUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "watch/occupancy.h"
#include "watch/record.h"

enum { SCRUB_TIMERS = 4 };

struct scrub_thread {
    pid_t tid;
    uint64_t started_by;    /* lib/thread.h */
    bool is_gone;           /* a later thread with this id is another user's */
    char name[RECORD_NAME]; /* that the user has got last */
    bool is_asleep;
    int64_t ready_since; /* 0: the thread runs, sleeps, or this is not known */
    uint16_t call;       /* the system call that the thread is in; 0: none */
    /* the timers that have started in the context of the thread; address 0: none */
    struct {
        uint64_t address;
        int64_t expires; /* 0: the timer does not run */
    } timers[SCRUB_TIMERS];
};

struct scrub {
    struct scrub_thread *threads; /* sorted by tid */
    size_t count;
    struct occupancy *occupancy; /* NULL: the user has not asked for causes */
    /* true: `other` has been a thread of the same process as the own thread `tid` since the
     * beginning, and has no rights of another user. Asked only if the user asks for causes. */
    bool (*is_relative)(void *context, pid_t tid, pid_t other);
    void *context;
};

void scrub_sort(struct scrub *scrub);

/* NULL: the thread is not traced, or is gone. */
struct scrub_thread *scrub_find(const struct scrub *scrub, pid_t tid);

/* Takes the next record, in the order of times, and makes what the user may see of it. False: the
 * user may see nothing of it. When a thread has ended, it is gone. */
bool scrub_take(const struct scrub *scrub, const struct record *record, struct record *seen);

#endif
