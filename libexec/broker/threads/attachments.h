/* The table of threads that are attached or are about to be attached. A watch is a perf event that
 * reports when a thread runs, ends or calls execve(2) (libexec/attach/task-events.h). */
#ifndef RTF_ATTACHMENTS_H
#define RTF_ATTACHMENTS_H

#include "reservation.h"

/* The loop calls these functions when a source or a timer of an attachment is ready. The loop calls
 * them before all other sources, because a request that comes after the end of a thread must find
 * the thread's capacity free. Call attachments_prepare before the first thread is attached. */
struct attachment_calls {
    void (*ended)(struct source *source, uint32_t events);
    void (*watched)(struct source *source, uint32_t events);
    void (*to_watch)(struct timer *timer);
    void (*doubt)(struct timer *timer);
};
void attachments_prepare(const struct attachment_calls *whom);

/* True: the attach helper has to apply the grant to the thread once more. */
bool attachment_is_to_be_applied(const struct attachment *attachment);

struct attachment *attachment_find(pid_t tid);
unsigned attachments_count(void);
struct attachment *attachment_new(struct reservation *reservation, const struct identity *identity,
                                  int pidfd, bool by_file, const struct attributes *former);

/* Adds the attachment to the table. From now on the loop reports the end of the thread. False:
 * another reservation has the thread, or the loop cannot watch the thread (errno says why). */
bool attachment_watch(struct attachment *attachment);
void attachment_end(struct reservation *reservation);

/* The attachment takes the descriptor `watch` over; -1: there is no watch. armed: the watch reports
 * when the thread runs; call attachment_watch_told after the report. False: the attachment has no
 * working watch. */
bool attachment_keep_watch(struct attachment *attachment, int watch, bool armed);
void attachment_watch_told(struct attachment *attachment);

/* True: the thread has ended. The pidfd alone does not say so: before Linux 6.9, the pidfd of a
 * thread that does not lead its process is the pidfd of the process. */
bool attachment_is_over(const struct attachment *attachment);

/* Returns an attachment whose thread belonged to this process, did not lead the process, and has
 * ended; NULL: there is no such attachment. */
struct attachment *attachment_over_in(pid_t process);

/* Returns an attachment whose thread belongs to this process, does not lead the process, and has a
 * wanted reservation; NULL: there is no such attachment. */
const struct attachment *attachment_within(pid_t process,
                                           bool (*is_wanted)(const struct reservation *));

/* True: the watch has recorded, now or before it was dropped, that the thread ended without an
 * execve(2). */
bool attachment_has_died(const struct attachment *attachment);
void attachment_drop_watch(struct attachment *attachment);

/* Call this when the thread has become real-time. If it has no watch, it gets a watch 10 ms later,
 * for which no request waits. */
void attachment_watch_soon(struct attachment *attachment);

/* attachment_bury ends the attachment. attachments_sweep frees buried attachments at the end of the
 * turn of the loop, because a later event of the turn may still point to them. */
void attachment_bury(struct attachment *attachment);
void attachments_sweep(void);

#endif
