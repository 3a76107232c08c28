/* Reads the kernel's records of all forks, ends and new names of threads, from a ring for each CPU
 * (perf_event_open(2)). */
#ifndef RTF_TASK_RECORDS_H
#define RTF_TASK_RECORDS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum task_change { TASK_FORKED, TASK_NAMED, TASK_EXECED, TASK_ENDED };

struct task_record {
    enum task_change what;
    pid_t process, tid;
    pid_t parent;  /* TASK_FORKED: the process that has forked; of a new thread: its own process */
    uint64_t time; /* CLOCK_MONOTONIC, ns */
};

/* Records are written while the rings are open. False: errno says why. */
bool task_records_open(void);
void task_records_close(void);

/* Fills in the descriptors that poll(2) has to wait for, at most `size`. Returns their number. */
int task_records_poll(struct pollfd *wanted, int size);

/* Calls `take` for all records that is_wanted() accepts, in the order of their times. *count: the
 * number of these records. False: records were lost. */
bool task_records_take(int *count, bool (*is_wanted)(const struct task_record *record),
                       void (*take)(const struct task_record *record));

#endif
