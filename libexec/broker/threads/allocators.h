/* The helpers for resources other than CPU time: rtf-net for interfaces (enforce=htb), rtf-disk for
 * disks (enforce=cgroup), and rtf-disk with other capabilities for threads with a raised I/O
 * priority (enforce=ioprio). No other program changes these. Each kind has one helper for all its
 * lines, and none without a line.
 *
 * A record in state/ says which interfaces and disks rtf has changed, and how they were before. It
 * is written before the first change, so that everything is put back even after kill -9. */
#ifndef RTF_ALLOCATORS_H
#define RTF_ALLOCATORS_H

#include "helper.h"
#include "plugin-lines.h"

/* By which of them the line's promises are kept; KEPT: by none. */
enum kept kept_by(const struct plugin_line *line);

/* Before the launcher is forked: gives back what is ours no more since the last start. `again`: the
 * helper knows no class and no thread any more. */
typedef char *allocators_path(const char *program);
/* before that, of each thread that was raised */
void allocators_know_raised(pid_t tid, uint64_t started_by, int former);
bool allocators_raised_any(void); /* could any be? */
void allocators_prepare(allocators_path *path, void (*tell)(const struct helper_event *event),
                        void (*again)(enum kept kept));

/* After that. A line of which something is not to be had is off, which the log tells. */
void allocators_start(void);

/* Once all that was granted before is said: other classes go. And once it is said again, to a
 * helper that has been started again. */
void allocators_settle(void);
void allocator_settle_again(enum kept kept);

/* All is given back; or they end, and leave it as it is. */
void allocators_end(void);
void allocators_stop(void);

/* Puts back what a dead broker has left changed. False: *reason. Needs all privileges. */
bool allocators_put_back(allocators_path *path, char reason[static REASON_BYTES]);

/* Begins a message to a helper: op=, and interface= or device= of the line, if there is one.
 * Returns the message, whose id the answer carries. */
struct message *allocator_begin(const char *op, const struct plugin_line *line);
uint64_t allocator_finish(enum kept kept, struct message *message);

#endif
