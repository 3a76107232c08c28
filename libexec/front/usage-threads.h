/* The threads that rtf-usage(1) looks at, while it runs. */
#ifndef RTF_USAGE_THREADS_H
#define RTF_USAGE_THREADS_H

#include "usage-look.h"
#include "usage-marks.h"
#include "usage-periods.h"

struct usage_grant {
    pid_t tid;
    uint64_t runtime, period, deadline; /* us; runtime 0: none */
    bool is_of_process;                 /* the runtime is for all threads of the process `tid` */
};

struct usage {
    char *name;
    struct usage_grant grant;
    struct look_files files;
    int timer; /* readable twice a period; -1: the thread has ended */
    bool has_ended;
    struct periods periods;
    struct marks marks;
    /* the counts at the time of the last event (usage_print_event) */
    struct usage_told {
        uint64_t saturated, overruns, missed;
        int64_t at; /* 0: there was no event */
    } told;
};

/* Begins to look at the thread. False: the thread has ended, or cannot be looked at. */
bool usage_begin(struct usage *usage, const char *name, const struct usage_grant *grant);

/* Begins to read marks of the thread's jobs. */
void usage_begin_marks(struct usage *usage, int directory);

/* Call this when the timer is readable. */
void usage_look(struct usage *usage);

/* Looks for the last time. */
void usage_end(struct usage *usage);

#endif
