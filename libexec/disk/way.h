/* There are two ways to enforce claims on a disk. In the first, processes are in groups with a
 * share (groups.h). In the second, threads have a raised I/O priority (hold.h). This file declares
 * the functions that each way has. */
#ifndef RTF_WAY_H
#define RTF_WAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper-loop.h"
#include "thread.h"

enum { CLASS_LEAST = 0x10, CLASS_MOST = 0xffff };

/* A thread and its reservation's class, as sent by the broker. The thread has the id `tid`, and
 * started at the time `started_by` (clock ticks since boot) or before. So a later thread with the
 * same id is not taken for this thread. */
struct member {
    uint16_t class;
    pid_t tid;
    uint64_t started_by;
    uid_t owner;
    int former; /* the I/O priority before the thread was raised; -1: not sent */
};

struct way {
    /* Takes the machine's lock for this way. All other functions require this lock. False: another
     * process holds the lock, or *reason. */
    bool (*hold)(char reason[static SERVE_REASON]);

    /* begin and end the use of a disk, by its number. begin requires the scheduler bfq. False:
     * *reason. */
    bool (*begin)(const char *number, char reason[static SERVE_REASON]);
    void (*end)(const char *number);

    /* add makes or changes a class: rate in bytes per second, block in bytes, share in billionths
     * of the disk's time. drop removes a class. settle removes the classes for which `keep` returns
     * false. False: *reason, with errno. ETIMEDOUT: processes in the class fork faster than they
     * can be found. */
    bool (*add)(uint16_t class, const char *number, uint64_t rate, uint64_t block, uint64_t share,
                char reason[static SERVE_REASON]);
    bool (*drop)(uint16_t class, char reason[static SERVE_REASON]);
    bool (*settle)(bool (*keep)(uint16_t class), char reason[static SERVE_REASON]);

    /* Removes all classes, and everything else that this way has made. */
    bool (*dissolve)(char reason[static SERVE_REASON]);

    /* bind gives a thread its class, if the thread belongs to `owner` (root may have any thread).
     * unbind takes the class away from the thread. GONE: the thread has ended. REFUSED: *reason. */
    enum done (*bind)(const struct member *member, char reason[static SERVE_REASON]);
    enum done (*unbind)(const struct member *member, char reason[static SERVE_REASON]);

    /* power: the capability that this way needs in addition to CAP_SYS_PTRACE. calls: the system
     * calls that it needs in addition to those of every helper */
    int power;
    const char *calls; /* names of system calls, with single blanks between them */
};

/* Takes a lock that only one broker of the machine may hold (register.h). The lock ends with its
 * holder. A holder that is just ending may still restore settings, so way_hold waits up to 3 s for
 * the holder, once in the life of this process. False: *reason. */
bool way_hold(const char *lock, char reason[static SERVE_REASON]);

/* DONE if the id still belongs to the thread. bind = true: the thread must also belong to
 * member->owner. */
enum done way_identify(const struct member *member, bool bind, struct identity *identity,
                       char reason[static SERVE_REASON]);

/* Call this when a thread could not be read, while errno is the error. Returns GONE if the thread
 * has ended. After any other error, returns REFUSED with *reason. what: the beginning of the
 * sentence. */
enum done way_failed(char reason[static SERVE_REASON], const char *what);

#endif
