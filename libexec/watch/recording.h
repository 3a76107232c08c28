/* The records of a recording in memory, with the names of its threads. The recorder (recorder.h)
 * fills a recording for root, and trace-stream.h fills one for a user. */
#ifndef RTF_WATCH_RECORDING_H
#define RTF_WATCH_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

enum { RECORDING_MOST = 1 << 22, RECORDING_NAME = 17 };

struct recording;

/* cpus: higher than the number of each CPU. NULL: there is no memory. */
struct recording *recording_new(unsigned cpus);
void recording_free(struct recording *recording);
unsigned recording_cpus(const struct recording *recording);

/* Adds a record. The records of a CPU come in the order of their times. False: there are
 * RECORDING_MOST records, or there is no memory. */
bool recording_add(struct recording *recording, const struct record *record);

/* Notes the name of a thread. The name may have any bytes, and replaces an earlier name. */
void recording_put_name(struct recording *recording, pid_t thread,
                        const char text[static RECORD_NAME]);

/* Copies the last known name of a thread. */
void recording_name(const struct recording *recording, pid_t thread,
                    char name[static RECORDING_NAME]);

/* Calls `take` for each thread whose name is known, in no order. */
void recording_each_name(const struct recording *recording,
                         void (*take)(void *context, pid_t thread, const char *name),
                         void *context);

/* recording_dropped returns how often the kernel had no room for events of this CPU. recording_drop
 * adds to this number. */
uint64_t recording_dropped(const struct recording *recording, unsigned cpu);
void recording_drop(struct recording *recording, unsigned cpu, uint64_t times);

/* Returns all records, in the order of their times. The recording owns the records. NULL: there is
 * no memory. */
const struct record *recording_records(struct recording *recording, size_t *count);

#endif
