/* Makes the marks of commands (command.h), which make no marks themselves, from the scheduler's
 * events. The events come from an own instance of tracefs. Each time a command has used one more
 * quantum of CPU time, one job of this length counts as done. The analysis is the same as for other
 * threads. */
#ifndef RTF_MUSE_EVENTS_H
#define RTF_MUSE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "experiment.h"
#include "mark.h"
#include "watch/trace-instance.h"

enum { EVENTS_WHY = 256 };

/* The state of one command whose events are followed. */
struct followed {
    pid_t tid;
    uint16_t thread; /* from 0 */
    int64_t last;    /* the time of the latest event, ns */
    bool running;
    int64_t since; /* the time since which the thread has its CPU, ns */
    uint16_t cpu;
    int64_t supplied; /* the CPU time of the command until now, ns */
    uint32_t jobs;    /* number of marks */
    uint64_t gaps;    /* number of events that do not fit together, because some events were lost */
    /* ns. asleep_since: the time since which the thread sleeps by its own decision. asleep: how
     * long it has slept by its own decision */
    int64_t asleep_since, asleep;
    bool sleeps;
};

typedef bool take_mark(void *argument, struct mark mark);

/* Takes one line of a trace. If the line is a sched_switch of this thread, adds up the thread's CPU
 * time and calls `take` with a mark for each full quantum. start: the time of the experiment's
 * start, in ns; 0: the start is not known yet, and no CPU time counts. False: `take` returned
 * false. */
bool events_take_line(const char *line, struct followed *followed, int64_t start, take_mark *take,
                      void *argument);

/* Adds the CPU time from followed->since to `until`: calls `take` with a mark for each full
 * quantum; the first mark is at the beginning of the first quantum. */
bool events_supply(struct followed *followed, int64_t until, int64_t start, take_mark *take,
                   void *argument);

struct events {
    struct instance instance;
    int pipe;        /* trace_pipe, non-blocking; -1: not open */
    char held[4096]; /* an incomplete line */
    size_t length;
};

bool events_open(const pid_t *tids, size_t count, struct events *events,
                 char why[static EVENTS_WHY]);

/* Passes all present lines to events_take_line, for each thread. */
bool events_drain(struct events *events, struct followed *followed, size_t count, int64_t start,
                  take_mark *take, void *argument);

void events_close(struct events *events);

#endif
