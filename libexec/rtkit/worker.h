/* A worker is a process of rtf-rtkit(8) with the rights of one user who calls, and no other rights.
 * The worker writes the user's spec into the spool, waits for the broker's answer, and returns the
 * answer. Each active user has one worker. */
#ifndef RTF_RTKIT_WORKER_H
#define RTF_RTKIT_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { WORKER_WHY = 600 };

/* The parameters of a spec, except for the priority. A worker uses the same parameters for all
 * threads. To give a program other parameters, change write_spec (worker.c). */
struct terms {
    const char *spool, *plugin; /* plugin = NULL: any plugin */
    uint64_t runtime, period;   /* us */
};

/* Messages to and from a worker, as datagrams over a SOCK_SEQPACKET pair. */
struct job {
    uint64_t id;
    pid_t caller;             /* a process id in our namespace, from the bus */
    uint64_t started_by;      /* a time at which the caller had its id (lib/thread.h) */
    uint64_t process, thread; /* ids in the caller's namespace; process = 0: the caller */
    unsigned priority;
    /* below 0: the caller asks only for this nice value; 0: the caller asks for real-time
     * scheduling */
    int nice;
};

enum job_result { JOB_DONE, JOB_REFUSED, JOB_FULL, JOB_NO_BROKER, JOB_NO_THREAD, JOB_FAILED };

struct job_answer {
    uint64_t id;
    enum job_result result;
    char why[WORKER_WHY];
};

/* Starts a worker. Returns our end of the socket; -1: errno says why. */
int worker_start(const struct terms *terms, uid_t uid);

#endif
