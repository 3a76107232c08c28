/* What is kept of an attached thread.
 *
 *                       it sleeps              it wakes
 *      IN_FORCE ───────────────────► ASLEEP ─────────────► AWAKE      IN_FORCE: it runs as granted, or the helper has been told to see to that.
 *       │    ▲                         ▲                    │         ASLEEP: the kernel makes it real-time only when it runs.
 *       │    └─────────────────────────┴──── applied ───────┤         AWAKE: it runs, and is to be made real-time now.
 *       │ it did not follow                                 │         ASTRAY: it is not what it was told to be; a request sees to it, or tells
 *       └──────────────────────► ASTRAY ────────────────────┘                 its owner why not.
 *
 *      any ──► LAID_DOWN: put back at the broker's end, to be attached again by the next. */
#ifndef RTF_ATTACHMENT_H
#define RTF_ATTACHMENT_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "loop.h"
#include "thread.h"

struct reservation;

enum attachment_state { ATTACHMENT_IN_FORCE, ATTACHMENT_ASLEEP, ATTACHMENT_AWAKE, ATTACHMENT_ASTRAY, ATTACHMENT_LAID_DOWN };

/* An attached thread, as who else is on its CPUs feels it. {0}: not at all. */
struct presence {
    cpu_set_t cpus;
    uint64_t mean, longest; /* ns, that it keeps another one waiting */
};

/* By which helper something is kept: allocators.h. */
enum kept { KEPT_NETWORK, KEPT_DISK, KEPT_IOPRIO, KEPT };

struct attachment {
    enum attachment_state state;
    struct source source;
    struct reservation *reservation;
    pid_t tid, process;
    uint64_t started_by; /* thread.h */
    int pidfd;
    bool scheduled; /* the helper has been told to make it real-time, at least once */
    bool bound[KEPT]; /* that helper has been told of it: shares.h */
    bool by_file;   /* asked for by NAME.tid, not by the key attach */
    bool died;      /* its watch has seen it end without an execve(2) */
    bool served;    /* it has been real-time, */
    int64_t since;  /* and for no longer than since then: CLOCK_MONOTONIC, ns; 0: not known */
    struct attributes former;
    int former_ioprio; /* before shares_bind; -1: not noted */
    struct presence presence;
    char *group;      /* the cpuset group it came from; NULL where no line of plugins.conf has domains */
    bool guarded;     /* guard.h: it can be ordinary until its next period, */
    bool has_lent;    /* under SCHED_DEADLINE, too */
    bool only_awake;  /* the guard could not make it real-time in its sleep: when it runs */
    int naps;         /* how often it slept again before it could be made real-time */
    int watch;        /* libexec/attach/task-events.h; -1: none */
    bool watch_once;  /* the thread's running, not its execve */
    void *watch_page;
    size_t watch_bytes;
    struct source watch_source;
    struct timer to_watch; /* it will be watched then */
    struct timer doubt;    /* then it is looked again whether its id goes on */
    int looks;
    RB_ENTRY(attachment) of_process; /* if it does not lead it */
    UT_hash_handle hh; /* by tid */
};

/* It sleeps, or has just woken: its owner is told that it is pending. */
static inline bool attachment_is_pending(const struct attachment *attachment)
{
    return attachment->state == ATTACHMENT_ASLEEP || attachment->state == ATTACHMENT_AWAKE;
}

#endif
