/* Reads the events and the contents of the user's directory, which is the working directory. An
 * event is only a hint to look at the files. */
#ifndef RTF_READER_DIRECTORY_H
#define RTF_READER_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

/* Starts to watch the directory. given: an inotify instance, owned by the caller, perhaps with
 * unread events of an earlier reader; -1: there is none, and the reader scans the directory
 * periodically. */
void directory_begin(int given);

/* Reads the pending events. */
void directory_take_events(void);

/* directory_scan begins a scan. A scan sends each name with the file's stamp (lib/snapshot.h) to
 * the broker, and then an end mark. directory_scan_some sends some names; call it in each turn
 * while directory_scans() is true. since: all verdicts decided before this time (CLOCK_REALTIME,
 * ns) have been written; 0: the scan has the time of the previous scan. */
void directory_scan(int64_t since);
bool directory_scans(void);
void directory_scan_some(void);

/* When the directory must be scanned because no events arrive; CLOCK_MONOTONIC, ns; INT64_MAX:
 * never. */
int64_t directory_deadline(void);
void directory_expire(int64_t now);

#endif
