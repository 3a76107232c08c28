/* What is found when a reader looks through its directory: when that is adopted, after a flood of events, after a SIGHUP, when a reader
 * has died. */
#ifndef RTF_SCANS_H
#define RTF_SCANS_H

#include "reservation.h"

/* As in readers.h. */
void scan_begin(struct user *user, int64_t since);
void scan_file(struct user *user, const char *name, bool is_json, const struct stamp *stamp);
void scan_verdict(struct user *user, const char *name, int64_t decided);
void scan_end(struct user *user);
void scan_forget(struct user *user);

/* While they are gathered, what is found waits; then it is looked at in the order in which it came, whosever it is: what was first is
 * asked first. */
void scans_gather(void);
void scans_gathered(void);

#endif
