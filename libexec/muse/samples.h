/* Makes the marks of commands (command.h), which make no marks themselves, for users who may not
 * read the scheduler's events. The source is the CPU time in /proc, which every user can read. The
 * kernel updates the CPU time when the thread leaves its CPU and at each tick. The watching process
 * reads the CPU time periodically. */
#ifndef RTF_MUSE_SAMPLES_H
#define RTF_MUSE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"

/* The state of one thread, in addition to struct followed. */
struct sampled {
    int time, state; /* descriptors of the thread's files schedstat (time) and stat (state) */
    int64_t had;     /* CPU time at the last sample, ns; -1: not sampled yet */
    int64_t looked;  /* time of the last sample, ns */
    int64_t placed;  /* ns; the marks until now account for the CPU time before this time */
    int64_t apart;   /* the longest time between two samples, ns */
};

struct samples {
    struct sampled *threads; /* NULL: not in use */
    int timer;               /* readable when the next sample is due */
};

bool samples_open(const struct followed *followed, size_t count, struct samples *samples);

/* Samples each thread. The marks for the CPU time since the last sample get times directly before
 * this sample. */
void samples_take(struct samples *samples, struct followed *followed, size_t count, int64_t start,
                  take_mark *take, void *argument);

void samples_close(struct samples *samples, size_t count);

#endif
