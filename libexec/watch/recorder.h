/* Records events of the scheduler through tracefs, for root. The recorder notes each change of the
 * running thread on all CPUs, and beyond that only events of the threads that are named to it.
 *
 * Nothing of the recorder stays in the kernel when the process ends, however it ends (trace-instance.h).
 */
#ifndef RTF_WATCH_RECORDER_H
#define RTF_WATCH_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace-instance.h"
#include "record.h"

enum { RECORDER_WHY = 256, RECORDER_NAME = 17, RECORDER_MOST = 1 << 22 };

struct recorder;

/* Prepares a recording. The kernel changes its code for the events here, which takes some ms. NULL:
 * `why` has a sentence. */
struct recorder *recorder_open(const pid_t *threads, size_t count, char why[static RECORDER_WHY]);

/* False: the kernel hides its addresses from root. Then there are no records about timers. */
bool recorder_knows_timers(const struct recorder *recorder);

/* Begin and end of the recording, ns of CLOCK_MONOTONIC. */
int64_t recorder_start(struct recorder *recorder);
int64_t recorder_stop(struct recorder *recorder);

/* A descriptor for poll(2), which becomes readable when half a buffer is full. Then call
 * recorder_drain. False: there are RECORDER_MOST records, or there is no memory. */
int recorder_descriptor(const struct recorder *recorder);
bool recorder_drain(struct recorder *recorder);

/* All records until recorder_stop, in the order of their times. The recorder owns them. */
const struct record *recorder_records(struct recorder *recorder, size_t *count);

/* Copies the last known name of a thread, which may have any bytes. */
void recorder_name(const struct recorder *recorder, pid_t thread, char name[static RECORDER_NAME]);

/* Calls `take` for each thread whose name is known, in no order. */
void recorder_each_name(const struct recorder *recorder,
                        void (*take)(void *context, pid_t thread, const char *name), void *context);

/* Has recorder_drain keep the kernel's pages, too. Names of threads in these pages are printable
 * ASCII. recorder_pages returns the pages of a CPU, one behind the other. */
void recorder_keep_pages(struct recorder *recorder);
const void *recorder_pages(const struct recorder *recorder, unsigned cpu, size_t *bytes);
size_t recorder_page_size(const struct recorder *recorder);

/* The instance, for the descriptions of events in tracefs. */
const struct instance *recorder_instance(const struct recorder *recorder);

/* The address of the kernel's function dl_task_timer; 0: not known. */
uint64_t recorder_replenishment(const struct recorder *recorder);

/* How often the kernel had no room for events of this CPU. */
uint64_t recorder_dropped(const struct recorder *recorder, unsigned cpu);
unsigned recorder_cpus(const struct recorder *recorder);

void recorder_close(struct recorder *recorder);

#endif
