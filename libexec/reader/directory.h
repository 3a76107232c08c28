/* What happens in the directory, which is the working directory: events are hints, the directory is the truth. */
#ifndef RTF_READER_DIRECTORY_H
#define RTF_READER_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

/* `given`, an inotify instance, may be of an earlier reader, with events that it has not read. It stays the caller's; -1: there is none, and the directory is
 * looked through now and then. */
void directory_begin(int given);

/* Takes what the kernel has to tell. */
void directory_take_events(void);

/* All names are told, with their stamps, some in each turn; then the broker is told that these were all. since: verdicts that were decided
 * before (CLOCK_REALTIME, ns) have been written; 0: as before. */
void directory_scan(int64_t since);
bool directory_scans(void);
void directory_scan_some(void);

/* When the directory has to be looked through because nothing tells of it; CLOCK_MONOTONIC, ns; INT64_MAX: never. */
int64_t directory_deadline(void);
void directory_expire(int64_t now);

#endif
