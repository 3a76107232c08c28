/* Marks of threads that make none, for who may not read the scheduler's events: from how much CPU time they have had so far, which /proc tells
 * everybody. It is looked at again and again, and changes when the thread leaves its CPU and when the kernel's timer ticks. */
#ifndef RTF_MUSE_SAMPLES_H
#define RTF_MUSE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"

/* What is known of one thread, beside what is known of any. */
struct sampled {
    int time, state; /* its schedstat and stat */
    int64_t had;     /* ns of a CPU by the last look; -1: none yet */
    int64_t looked;  /* when that was, ns */
    int64_t placed;  /* ns: all of it lies before this */
    int64_t apart;   /* ns: the most between two looks */
};

struct samples {
    struct sampled *threads; /* NULL: nobody is looked at */
    int timer;               /* readable when it is time to look again */
};

bool samples_open(const struct followed *followed, size_t count, struct samples *samples);

/* What each has had since the last look lies right before this one. */
void samples_take(struct samples *samples, struct followed *followed, size_t count, int64_t start, take_mark *take, void *argument);

void samples_close(struct samples *samples, size_t count);

#endif
