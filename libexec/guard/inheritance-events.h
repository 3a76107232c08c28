/* What the tracepoint sched_pi_setprio tells: who has the rank of another thread now, or no longer. perf_event_open(2): the kernel writes a
 * record into the ring of the CPU where it happens. */
#ifndef RTF_INHERITANCE_EVENTS_H
#define RTF_INHERITANCE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct change {
    pid_t tid;         /* of whom */
    pid_t caller;      /* who made the call by which it came */
    int before, after; /* the kernel's priorities: 99 - rank, -1 under SCHED_DEADLINE, 100 and more for ordinary threads */
    int64_t time;      /* CLOCK_MONOTONIC, ns */
};

/* "ID:PID:OLDPRIO:NEWPRIO", the tracepoint's id and where these fields are in its records. Each record makes `epoll` ready as `as`. False with
 * errno. */
bool inheritance_events_open(const char *tracepoint, int epoll, uint64_t as);

/* Takes out what is there. True: there was something. */
bool inheritance_events_drain(void (*take)(const struct change *));

/* Whether a ring had no room for a record since the last call. */
bool inheritance_events_lost(void);

/* Off: nobody is woken. */
void inheritance_events_listen(bool on);

#endif
