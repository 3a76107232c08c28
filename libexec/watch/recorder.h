/* Records events of the scheduler through tracefs, for root. The recorder records each change of
 * the running thread on all CPUs. It records other events only for the threads that the caller
 * names.
 *
 * When the process ends in any way, nothing of the recorder stays in the kernel
 * (trace-instance.h). */
#ifndef RTF_WATCH_RECORDER_H
#define RTF_WATCH_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace-events.h"
#include "recording.h"

struct recorder;

/* Prepares a recording. The kernel changes its code for the events during this call, which takes
 * some ms. causes: also record the events that tell why jobs are late. NULL: `why` has a
 * sentence. */
struct recorder *recorder_open(const pid_t *threads, size_t count, bool causes,
                               char why[static EVENTS_WHY]);
void recorder_close(struct recorder *recorder);

/* Start and stop the recording. Each returns the time, ns of CLOCK_MONOTONIC. */
int64_t recorder_start(struct recorder *recorder);
int64_t recorder_stop(struct recorder *recorder);

/* Call this when the descriptor of the events is readable. False: there are RECORDING_MOST records,
 * or there is no memory. */
bool recorder_drain(struct recorder *recorder);

/* Returns the records until recorder_stop. The recorder owns the records. */
struct recording *recorder_recording(const struct recorder *recorder);
const struct events *recorder_events(const struct recorder *recorder);

/* Makes recorder_drain keep the kernel's pages, too. Names of threads in these pages are printable
 * ASCII. recorder_pages returns the pages of a CPU, one behind the other. */
void recorder_keep_pages(struct recorder *recorder);
const void *recorder_pages(const struct recorder *recorder, unsigned cpu, size_t *bytes);

#endif
