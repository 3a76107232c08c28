/* The helpers for resources other than CPU time: rtf-net for interfaces (enforce=htb), rtf-disk for
 * disks (enforce=cgroup), and rtf-disk with other capabilities for threads with a raised I/O
 * priority (enforce=ioprio). No other program changes these. Each kind has one helper for all its
 * lines, and none without a line.
 *
 * A record in state/ says which interfaces and disks rtf has changed, and how they were before. The
 * record is written before the first change, so that all settings can be restored even after kill
 * -9. */
#ifndef RTF_ALLOCATORS_H
#define RTF_ALLOCATORS_H

#include "helper.h"
#include "plugin-lines.h"

/* Which helper keeps the line's promises; KEPT: none. */
enum kept kept_by(const struct plugin_line *line);

/* Call this before the launcher is forked. Gives back the interfaces and disks that plugins.conf no
 * longer has. `again` is called when a helper has been started again, and knows no class and no
 * thread. */
typedef char *allocators_path(const char *program);
/* call this before allocators_prepare, for each thread whose I/O priority was raised */
void allocators_know_raised(pid_t tid, uint64_t started_by, int former);
bool allocators_raised_any(void); /* true: a thread may be raised */
void allocators_prepare(allocators_path *path, void (*tell)(const struct helper_event *event),
                        void (*again)(enum kept kept));

/* Call this after the fork. A line whose interface or disk cannot be used is turned off, and the
 * log says so. */
void allocators_start(void);

/* allocators_settle: the helpers know all earlier grants now, and remove all other classes.
 * allocator_settle_again: the same for a helper that was started again. */
void allocators_settle(void);
void allocator_settle_again(enum kept kept);

/* allocators_end gives all interfaces and disks back. allocators_stop ends the helpers, and changes
 * nothing. */
void allocators_end(void);
void allocators_stop(void);

/* Restores the settings that a dead broker has left changed. False: *reason. Needs all
 * privileges. */
bool allocators_put_back(allocators_path *path, char reason[static REASON_BYTES]);

/* Begins a message to a helper: op=, and interface= or device= of the line, if there is one.
 * Returns the message, whose id the answer carries. */
struct message *allocator_begin(const char *op, const struct plugin_line *line);
uint64_t allocator_finish(enum kept kept, struct message *message);

#endif
