/* The helpers for resources other than CPU time: rtf-net for network interfaces (enforce=htb),
 * rtf-disk for disks (enforce=cgroup), and rtf-disk with other capabilities for threads with a
 * raised I/O priority (enforce=ioprio). No other program of rtf changes the settings of interfaces,
 * disks and I/O priorities. All lines of plugins.conf with the same enforce= have one helper
 * together. A helper without a line is not started.
 *
 * A class is the number by which the helpers know a reservation's share (shares.h).
 *
 * For each helper, a record in state/ says which interfaces and disks rtf has changed, and the
 * settings that they had before. The record is written before the first change, so that all
 * settings can be restored even after kill -9. */
#ifndef RTF_ALLOCATORS_H
#define RTF_ALLOCATORS_H

#include "helper.h"
#include "plugin-lines.h"

/* The helper that enforces the line's promises; KEPT: no helper. */
enum kept kept_by(const struct plugin_line *line);

/* Call allocators_prepare before the launcher is forked. It restores the settings of interfaces and
 * disks that plugins.conf no longer has. `path` returns the path of a program of rtf. `tell` is
 * called for each answer. `again` is called when a helper has been started again; the new process
 * knows no class and no thread. */
typedef char *allocators_path(const char *program);
/* Call this before allocators_prepare, for each thread whose I/O priority an earlier broker raised.
 * `former` is the thread's priority before. */
void allocators_know_raised(pid_t tid, uint64_t started_by, int former);
/* True: an earlier broker may have raised the I/O priority of a thread. */
bool allocators_raised_any(void);
void allocators_prepare(allocators_path *path, void (*tell)(const struct helper_event *event),
                        void (*again)(enum kept kept));

/* Call this after the fork. Starts the helpers. If the interface or disk of a line cannot be used,
 * the line is turned off, and the log says so. */
void allocators_start(void);

/* Call allocators_settle when the helpers have been told all grants of the earlier broker: then
 * they remove all other classes. Call allocator_settle_again when a helper that was started again
 * has been told all grants. */
void allocators_settle(void);
void allocator_settle_again(enum kept kept);

/* allocators_end restores the former settings of all interfaces and disks. allocators_stop ends the
 * helpers, and leaves all settings as they are. */
void allocators_end(void);
void allocators_stop(void);

/* Restores the settings that a dead broker has left changed. Call this with all privileges. False:
 * *reason says why. */
bool allocators_put_back(allocators_path *path, char reason[static REASON_BYTES]);

/* allocator_begin begins a message to a helper with op=, and with interface= or device= of the line
 * if `line` is not NULL. allocator_finish sends the message, and returns the id that the answer
 * will carry. */
struct message *allocator_begin(const char *op, const struct plugin_line *line);
uint64_t allocator_finish(enum kept kept, struct message *message);

#endif
