/* A broker on a private spool, and the cost of the broker and its parts. */
#ifndef RTF_BENCH_BROKER_H
#define RTF_BENCH_BROKER_H

#include <stdint.h>
#include <sys/types.h>

struct broker {
    char top[64]; /* the directory for all files of a run */
    char spool[128], specs[160];
    pid_t pid;
};

/* Makes the directory, a plugins.conf with these lines, and rules that allow USER, FILLER and the
 * CROWD everything. */
void broker_make(struct broker *broker, const char *where, const char *plugins);
void broker_remove(const struct broker *broker);

/* Returns when the broker serves. */
void broker_start(struct broker *broker, const char *build);
void broker_stop(struct broker *broker);

/* The sum of a number in /proc/PID/status, such as "VmRSS:" (KiB), over the broker and all its
 * parts. */
uint64_t broker_sum(pid_t pid, const char *key);

/* Waits until no user has a reader. A reader ends two seconds after its last work, and frees its
 * memory. */
void broker_await_readers(const struct broker *broker);

/* Pins the broker and all its parts, except SCHED_DEADLINE parts, which the kernel wants on all
 * CPUs. */
void broker_pin(const struct broker *broker, int cpu);

#endif
