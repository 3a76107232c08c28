/* Takes the results of scans. In a scan, a reader looks through all files of its user's directory.
 * A scan follows when the directory is adopted, after a flood of events, after a SIGHUP, and when a
 * reader has died. */
#ifndef RTF_SCANS_H
#define RTF_SCANS_H

#include "reservation.h"

/* Take the reports of a reader that scans its directory (readers.h). scan_forget: drops an
 * unfinished scan. */
void scan_begin(struct user *user, int64_t since);
void scan_file(struct user *user, const char *name, bool is_json, const struct stamp *stamp);
void scan_verdict(struct user *user, const char *name, int64_t decided);
void scan_end(struct user *user);
void scan_forget(struct user *user);

/* After scans_gather, the results of all readers wait. scans_gathered queues the reservations of
 * all users in the order in which their specs changed. */
void scans_gather(void);
void scans_gathered(void);

#endif
