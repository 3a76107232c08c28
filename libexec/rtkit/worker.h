/* A process with the rights of one caller of rtf-rtkit(8), and no others: it puts his spec into the spool, waits for the broker's answer, and says it.
 * One for each user, as long as he asks. */
#ifndef RTF_RTKIT_WORKER_H
#define RTF_RTKIT_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { WORKER_WHY = 600 };

/* What each thread gets, but for its priority. */
struct terms {
    const char *spool, *plugin; /* plugin NULL: whichever takes it */
    uint64_t runtime, period;   /* us */
};

/* Datagrams over a SOCK_SEQPACKET pair, to and from. */
struct job {
    uint64_t id;
    pid_t caller;             /* a process, as the bus knows it here */
    uint64_t started_by;      /* lib/thread.h */
    uint64_t process, thread; /* as the caller sees them; process 0: the caller itself */
    unsigned priority;
};

enum job_result { JOB_DONE, JOB_REFUSED, JOB_FULL, JOB_NO_BROKER, JOB_NO_THREAD, JOB_FAILED };

struct job_answer {
    uint64_t id;
    enum job_result result;
    char why[WORKER_WHY];
};

/* Starts one: our end of the socket; -1 with errno. */
int worker_start(const struct terms *terms, uid_t uid);

#endif
