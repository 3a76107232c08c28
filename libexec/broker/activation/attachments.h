/* The attached threads, and those that are about to be. */
#ifndef RTF_ATTACHMENTS_H
#define RTF_ATTACHMENTS_H

#include "wish.h"

struct attachment *attachment_find(pid_t tid);
unsigned attachments_count(void);
struct attachment *attachment_new(struct wish *wish, const struct identity *identity, int pidfd, bool by_file, const struct attributes *former);

/* From here on the end of the thread is an event. False with errno, or when another wish has the thread. */
bool attachment_watch(struct attachment *attachment);
void attachment_end(struct wish *wish);

/* The attachment takes the descriptor (-1: there is none). `armed`: it tells when the thread runs, until
 * attachment_watch_told, to be called when it has. False: nothing will tell. */
bool attachment_keep_watch(struct attachment *attachment, int watch, bool armed);
void attachment_watch_told(struct attachment *attachment);

/* Its thread has ended. Before Linux 6.9 the pidfd of a thread that does not lead its process is the process's. */
bool attachment_is_over(const struct attachment *attachment);

/* One of this process that did not lead it, and is over; NULL. */
struct attachment *attachment_over_in(pid_t process);

/* Its watch, as of now or when it was dropped, has seen its thread end, and no execve(2) by it. */
bool attachment_has_died(const struct attachment *attachment);
void attachment_drop_watch(struct attachment *attachment);
struct attachment *attachment_of_watch(struct source *source);

/* It is real-time and not watched as it should be: that is done a moment later, and nobody waits for it. The one to be watched first
 * (watch_at), NULL; and when that is under way. */
void attachment_watch_soon(struct attachment *attachment);
struct attachment *attachment_to_watch(void);
void attachment_watch_begun(struct attachment *attachment);

/* When to look again whether its id goes on (CLOCK_MONOTONIC, ns); 0: that is known. And the one to look at first. */
void attachment_doubt(struct attachment *attachment, int64_t look_at);
struct attachment *attachment_most_doubtful(void);

/* Freed by attachments_sweep, when the events in hand have been dealt with: one of them may point here. */
void attachment_bury(struct attachment *attachment);
void attachments_sweep(void);

#endif
