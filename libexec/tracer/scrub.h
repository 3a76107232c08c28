/* Decides which part of the kernel's events a user may see: the events of the user's own traced
 * threads, and nothing of any other thread. Any other thread becomes the thread 0, without a name
 * and with the priority of an idle thread. The user sees neither changes between two threads that
 * are not traced, nor the addresses of the kernel's timers.
 *
 * A user who asks for causes also sees the system calls, page faults and interrupts of the own
 * threads. When an own thread has waited for a CPU, the user sees which kind of threads had this
 * CPU, and how many threads of the same or a higher rank. When an own thread has waited for a lock,
 * the user sees which thread ended the wait, if that thread is an own thread or belongs to the same
 * process. */
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
    uint64_t started_by; /* lib/thread.h */
    /* the thread has ended, or is not the user's any more: its records no longer leave */
    bool is_gone;
    char name[RECORD_NAME]; /* the name that the user got last */
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
     * beginning, and has no rights of another user. Called only if the user asks for causes. */
    bool (*is_relative)(void *context, pid_t tid, pid_t other);
    void *context;
};

void scrub_sort(struct scrub *scrub);

/* Finds a traced thread. NULL: the thread is not traced, or is gone. */
struct scrub_thread *scrub_find(const struct scrub *scrub, pid_t tid);

/* Takes the next record, in the order of times, and sets *seen to the part that the user may see.
 * False: the user may see nothing of this record. A thread is gone after the record of its end. */
bool scrub_take(const struct scrub *scrub, const struct record *record, struct record *seen);

#endif
