/* Reads the facts about a thread that the kernel tells everybody: how long the thread ran and
 * waited, and under SCHED_DEADLINE also the rest of the runtime in the present period. */
#ifndef RTF_USAGE_LOOK_H
#define RTF_USAGE_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Times are ns. */
struct look {
    int64_t at;           /* CLOCK_MONOTONIC */
    uint64_t ran, waited; /* since the thread began; a throttled thread waits */
    bool is_ordinary;     /* no real-time policy */
    uint64_t deadline;    /* of the present runtime, on the scheduler's clock; 0: not known */
    int64_t left;         /* of the runtime; negative: the thread has overrun, and pays it back */
    uint64_t slept;       /* how often */
    uint64_t came;        /* how often the thread got a CPU */
    bool has_left;        /* the thread has left its CPU as often: it does not run */
    int64_t migrations;   /* since the thread began; -1: not known */
};

struct look_files {
    int schedstat, sched; /* -1: closed */
    clockid_t clock;      /* the CPU time of the whole process; 0: of the thread alone */
};

/* The open files are of this thread, even if another thread gets its id. False: there is no such
 * thread, or the process has too many open files. */
bool look_open(struct look_files *files, pid_t tid);

/* From now on, `ran` is the CPU time of all threads of the process. Call this after look_open. */
void look_at_process(struct look_files *files, pid_t process);

void look_close(struct look_files *files);

/* False: the thread has ended. */
bool look_read(const struct look_files *files, struct look *look);

/* Takes the text of /proc/TID/sched. Members that the text does not have keep their values. */
void look_parse(const char *text, struct look *look);

#endif
