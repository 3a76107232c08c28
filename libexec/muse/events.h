/* Marks of threads that make none: from the scheduler's events (tracefs, an instance of our own). Whenever such a thread has had one more
 * quantum of a CPU, one job of that length is over, and the analysis is that of any other thread. */
#ifndef RTF_MUSE_EVENTS_H
#define RTF_MUSE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "experiment.h"
#include "mark.h"

enum { EVENTS_WHY = 256 };

/* What is known of one thread. */
struct followed {
    pid_t tid;
    uint16_t thread;   /* from 0 */
    int64_t last;      /* ns: of the latest event */
    bool running;
    int64_t since;     /* ns: when it got its CPU */
    uint16_t cpu;
    int64_t supplied;  /* ns of a CPU so far */
    uint32_t jobs;     /* marks made */
    uint64_t gaps;     /* events that do not fit together: some was lost */
    int64_t asleep_since, asleep; /* it gave its CPU up itself; ns */
    bool sleeps;
};

typedef bool take_mark(void *argument, struct mark mark);

/* Takes one line of a trace. If the line is a sched_switch of this thread, the function adds up what the thread had, and takes a mark for each full
 * quantum. `start`: the experiment's start, ns; 0: the start is not known yet, and nothing counts. False: a mark could not be taken. */
bool events_take_line(const char *line, struct followed *followed, int64_t start, take_mark *take, void *argument);

/* It had its CPU since `since` until then: a mark whenever another quantum is full, and one at the very beginning. */
bool events_supply(struct followed *followed, int64_t until, int64_t start, take_mark *take, void *argument);

struct events {
    char instance[128];
    int pipe; /* trace_pipe, not blocking; -1: not open */
    char held[4096]; /* of a line that has not come whole */
    size_t length;
};

bool events_open(const pid_t *tids, size_t count, struct events *events, char why[static EVENTS_WHY]);

/* All lines that are there now, by events_take_line for each thread. */
bool events_drain(struct events *events, struct followed *followed, size_t count, int64_t start, take_mark *take, void *argument);

void events_close(struct events *events);

#endif
