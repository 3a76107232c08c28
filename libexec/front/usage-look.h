/* Reads the facts about a thread that the kernel tells everybody: how long the thread ran and
 * waited. For a SCHED_DEADLINE thread the kernel also tells how much of the runtime is left in the
 * present period. */
#ifndef RTF_USAGE_LOOK_H
#define RTF_USAGE_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Times are ns. */
struct look {
    int64_t at;           /* CLOCK_MONOTONIC */
    uint64_t ran, waited; /* since the thread began; a throttled thread counts as waiting */
    bool is_ordinary;     /* no real-time policy */
    /* the deadline of the present runtime, on the scheduler's clock; 0: not known */
    uint64_t deadline;
    /* what is left of the present runtime; negative: the thread has overrun, and pays this back */
    int64_t left;
    uint64_t slept; /* how often the thread went to sleep */
    uint64_t came;  /* how often the thread got a CPU */
    /* the thread has left a CPU as often as it came to one, so it does not run now */
    bool has_left;
    int64_t migrations; /* since the thread began; -1: not known */
};

struct look_files {
    int schedstat, sched; /* -1: closed */
    clockid_t clock;      /* the CPU time of the whole process; 0: of the thread alone */
};

/* Opens the files of the thread. They stay the files of this thread even if another thread gets its
 * id. False: there is no such thread, or the process has too many open files. */
bool look_open(struct look_files *files, pid_t tid);

/* From now on, `ran` is the CPU time of all threads of the process. Call this after look_open. */
void look_at_process(struct look_files *files, pid_t process);

void look_close(struct look_files *files);

/* Reads the facts of this moment. False: the thread has ended. */
bool look_read(const struct look_files *files, struct look *look);

/* Takes the text of /proc/TID/sched. Members that the text does not have keep their values. */
void look_parse(const char *text, struct look *look);

#endif
