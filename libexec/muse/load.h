/* The load: a process of threads that do their jobs over and over and mark when each begins. It shares this with the process that
 * watches it, drains the marks, and goes on if this one is killed. Times are ns of CLOCK_MONOTONIC. */
#ifndef RTF_MUSE_LOAD_H
#define RTF_MUSE_LOAD_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "experiment.h"
#include "ring.h"

enum { LOAD_WHY = 768, GRANT_TEXT = 4096 };

struct load_thread {
    struct ring ring;
    _Atomic pid_t tid;
    _Atomic uint64_t dropped;  /* marks for which the ring had no room */
    int64_t calibrated;        /* of one job, ns; 0: not known */
    _Atomic int64_t cpu_time;  /* of all its jobs, ns; 0: it did not come to their end */
    _Atomic uint32_t jobs;     /* how many those were */
    _Atomic int64_t preempted, faults; /* meanwhile: how often another thread took its CPU, and a page was first touched */
    char grant[GRANT_TEXT];    /* JSON; "": none */
    _Atomic int exited;        /* a command, by itself */
    int64_t asleep;            /* of a command, by itself, ns */
    uint64_t gaps;             /* in the events about a command */
    int64_t apart;             /* the most between two looks at its CPU time, ns; 0: its events were seen */
};

struct load {
    _Atomic int stop;          /* set by who watches */
    _Atomic int failed;        /* a thread could not be set up: exit status, and `why` */
    _Atomic int64_t start, end;
    char why[LOAD_WHY];
    _Atomic int ready;         /* all are set up, and wait with `watched` until somebody looks at the scheduler's events */
    sem_t watched;             /* only if there are commands */
    pthread_barrier_t set_up, started; /* between processes: a command is one of its own */
    size_t threads;
    struct load_thread thread[];
};

/* Shared memory for it; NULL: out of memory. */
struct load *load_make(size_t threads);

/* What ends the waiting for commands, besides `stop`. Blocked before the process begins. */
#define LOAD_STOP_SIGNAL SIGUSR1

/* In a process of its own: sets up, runs, and returns its exit status. */
int load_run(const struct experiment *experiment, const char *spool, struct load *load);

#endif
