/* An attached thread.
 *
 *                       it sleeps              it wakes
 *      IN_FORCE ───────────────────► ASLEEP ─────────────► AWAKE      IN_FORCE: the thread runs as granted, or the attach helper has the order to make it so.
 *       │    ▲                         ▲                    │         ASLEEP: the thread sleeps. The kernel refuses the change until the thread runs.
 *       │    └─────────────────────────┴──── applied ───────┤         AWAKE: the thread runs again. The broker makes it real-time now.
 *       │ the call failed                                 │         ASTRAY: the thread does not run as granted. A request corrects the thread, or tells
 *       └──────────────────────► ASTRAY ────────────────────┘                 the owner why not.
 *
 *      any ──► LAID_DOWN: the broker ends, and has given the thread its former attributes back. The next broker attaches the thread again. */
#ifndef RTF_ATTACHMENT_H
#define RTF_ATTACHMENT_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "extras.h"
#include "loop.h"
#include "thread.h"

struct reservation;

enum attachment_state {
    ATTACHMENT_IN_FORCE,
    ATTACHMENT_ASLEEP,
    ATTACHMENT_AWAKE,
    ATTACHMENT_ASTRAY,
    ATTACHMENT_LAID_DOWN
};

/* How long an attached thread keeps other threads on its CPUs waiting (placement.c). {0}: not at
 * all. */
struct presence {
    cpu_set_t cpus;
    uint64_t mean, longest; /* the mean and the longest time that another thread waits, ns */
};

/* Which helper program keeps a promise about a resource other than CPU time: allocators.h. */
enum kept { KEPT_NETWORK, KEPT_DISK, KEPT_IOPRIO, KEPT };

/* The process's limit of locked memory before the first reservation raised it. */
struct former_lock {
    bool is_known;
    uint64_t soft, hard; /* bytes */
    uint64_t since;      /* a time before the limit was first raised, in clock ticks since boot */
};

struct attachment {
    enum attachment_state state;
    struct source source;
    struct reservation *reservation;
    pid_t tid, process;
    uint64_t started_by; /* the thread began at this time or earlier (thread.h) */
    int pidfd;
    /* the attach helper has had the order to make the thread real-time, at least once */
    bool scheduled;
    bool bound[KEPT]; /* this helper has had the order to bind the thread to its share (shares.h) */
    bool by_file;     /* NAME.tid names the thread, not the key "attach" */
    bool died;        /* the watch saw the thread end, and not by an execve(2) */
    bool served;      /* the thread has been real-time */
    /* the thread became real-time at this time or later: CLOCK_MONOTONIC, ns; 0: not known */
    int64_t since;
    struct attributes former;
    /* the extras that the attach helper has had the order to give the thread (given-extras.h) */
    struct extras given;
    bool extras_said; /* this broker gave the order for the extras, not an earlier one */
    struct former_lock former_lock;
    int former_ioprio; /* the I/O priority before shares_bind; -1: not read */
    struct presence presence;
    /* the cpuset group of the thread before the attachment; NULL: no line of plugins.conf has
     * scheduling domains */
    char *group;
    /* the helper has moved the whole process into a group: "budget": "process" */
    bool whole;
    /* rtf-guard enforces the thread's runtime: a thread that has used up its runtime is ordinary
     * until its next period */
    bool guarded;
    /* how often the thread has lost its real-time policy for the rest of a period, since the log
     * last named this number */
    uint64_t untold;
    /* the guard has suspended the thread because the thread lent its priority to another thread;
     * this happens under SCHED_DEADLINE, too. Or the guard has ended the reclaiming of the thread,
     * and may have suspended the thread for this (guarded_end_reclaims) */
    bool has_lent;
    /* the guard could not make the sleeping thread real-time: the attach helper has to wait until
     * the thread runs */
    bool only_awake;
    /* how often the thread fell asleep again before the attach helper could make it real-time */
    int naps;
    int watch; /* the watch of the thread (libexec/attach/task-events.h); -1: none */
    /* true: the watch reports when the thread runs; false: the watch reports an execve(2) */
    bool watch_once;
    void *watch_page;
    size_t watch_bytes;
    struct source watch_source;
    struct timer to_watch; /* when the broker asks for the watch */
    /* when the broker looks again whether the thread's id still exists */
    struct timer doubt;
    int looks;                       /* number of these looks */
    RB_ENTRY(attachment) of_process; /* links the threads that do not lead their process */
    UT_hash_handle hh;               /* by tid */
};

/* True: the thread sleeps, or has just woken. The verdict calls such an attachment pending. */
static inline bool attachment_is_pending(const struct attachment *attachment)
{
    return attachment->state == ATTACHMENT_ASLEEP || attachment->state == ATTACHMENT_AWAKE;
}

#endif
