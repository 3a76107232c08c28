/* Divides the time of a recording into stretches, by what one thread did or waited for. The
 * recording must have causes (events_follow_causes). Where an event is lost, the stretch is
 * STRETCH_LOST. */
#ifndef RTF_WATCH_STRETCHES_H
#define RTF_WATCH_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"
#include "timeline.h"

enum stretch_kind {
    STRETCH_RUN,
    STRETCH_INTERRUPT, /* the thread had the CPU, but an interrupt used it */
    STRETCH_HOST,      /* the thread had a CPU on which nothing ran */
    STRETCH_THROTTLED,
    STRETCH_ORDINARY, /* ready, but without its real-time policy */
    STRETCH_OTHERS,   /* ready, but real-time threads of the same or a higher rank had the CPU */
    STRETCH_LOWER,    /* ready, but threads of a lower rank had the CPU */
    STRETCH_LOCK,
    STRETCH_CALL, /* asleep in another system call */
    STRETCH_FAULT,
    STRETCH_STOPPED, /* a signal, a debugger or the freezer of a cgroup has stopped the thread */
    STRETCH_PAUSE,   /* waits for its next job */
    STRETCH_LOST,
    STRETCH_KINDS
};

struct stretch {
    int64_t from, to;
    int64_t until;   /* STRETCH_THROTTLED: the time that the kernel has set; 0: not told */
    pid_t holder;    /* STRETCH_LOCK: the thread that ended the wait; 0: not told */
    uint16_t call;   /* STRETCH_CALL: the number of the system call */
    uint16_t others; /* STRETCH_OTHERS: how many threads */
    uint8_t kind;
};

struct stretches {
    struct stretch *list; /* without holes, in the order of times */
    size_t count, size;
};

struct stretches_source {
    const struct timeline *timeline; /* of the same records */
    uint32_t thread;                 /* index of timeline.threads */
    const struct record *records;
    size_t count;
    bool sees_all;   /* the records have each change of the running thread */
    bool has_faults; /* page faults are recorded */
    int64_t tick;    /* how often a busy CPU's timer interrupts it, ns; 0: not recorded */
};

/* Divides the recording into stretches. False: there is no memory. */
bool stretches_build(const struct stretches_source *source, struct stretches *stretches);
void stretches_free(struct stretches *stretches);

#endif
