/* The load is a process whose threads run their jobs in a loop, and mark the beginning of each job.
 * The load shares struct load with the watching process. The watching process drains the marks and
 * survives when the load is killed. Times are ns of CLOCK_MONOTONIC. */
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
    _Atomic uint64_t dropped; /* marks dropped because the ring was full */
    int64_t calibrated;       /* CPU time of one job before the run, ns; 0: not known */
    /* the CPU time of all jobs, ns; 0: the thread did not reach its end */
    _Atomic int64_t cpu_time;
    _Atomic uint32_t jobs; /* number of jobs */
    /* during the run; preempted: how often another thread took the CPU; faults: how often a page
     * was first touched */
    _Atomic int64_t preempted, faults;
    char grant[GRANT_TEXT]; /* JSON; "": no grant */
    _Atomic int exited;     /* 1: the command ended by itself */
    int64_t asleep;         /* time that the command slept by its own decision, ns */
    uint64_t gaps;          /* number of gaps where events of the command were lost */
    /* the longest time between two samples of the command's CPU time, ns; 0: it is measured by
     * events */
    int64_t apart;
};

struct load {
    _Atomic int stop; /* set by the watching process */
    /* the exit status if a thread could not be set up, with the reason in `why`; 0: no thread has
     * failed */
    _Atomic int failed;
    _Atomic int64_t start, end;
    char why[LOAD_WHY];
    /* 1: all threads are set up, and wait at `watched` until the watching process follows the
     * scheduler's events */
    _Atomic int ready;
    sem_t watched; /* used only if there are commands */
    /* shared between processes, because a command is a process of its own */
    pthread_barrier_t set_up, started;
    size_t threads;
    struct load_thread thread[];
};

/* Allocates the shared memory. NULL: out of memory. */
struct load *load_make(size_t threads);

/* The signal that ends the load's wait for its commands. Send it after `stop` is set. Block it
 * before load_run. */
#define LOAD_STOP_SIGNAL SIGUSR1

/* Runs the load in the calling process. Returns its exit status. */
int load_run(const struct experiment *experiment, const char *spool, struct load *load);

#endif
