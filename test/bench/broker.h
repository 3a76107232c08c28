/* A broker on a private spool, and what it and its parts cost. */
#ifndef RTF_BENCH_BROKER_H
#define RTF_BENCH_BROKER_H

#include <stdint.h>
#include <sys/types.h>

struct broker {
    char top[64]; /* the directory of all that a run makes */
    char spool[128], specs[160];
    pid_t pid;
};

/* The directory, with plugins.conf of these lines, and rules that let USER, FILLER and the CROWD do as they like. */
void broker_make(struct broker *broker, const char *where, const char *plugins);
void broker_remove(const struct broker *broker);

/* Returns when it serves. */
void broker_start(struct broker *broker, const char *build);
void broker_stop(struct broker *broker);

/* Of it and all its parts: the sum of a number in /proc/PID/status, such as "VmRSS:" (KiB). */
uint64_t broker_sum(pid_t pid, const char *key);

/* Until no user has a reader any more, which ends two seconds after what it has had to do, and its memory with it. */
void broker_await_readers(const struct broker *broker);

/* It and all its parts, but those that are SCHED_DEADLINE, which have to be allowed on all CPUs. */
void broker_pin(const struct broker *broker, int cpu);

#endif
