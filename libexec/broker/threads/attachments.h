/* The threads that are attached, or are about to be attached. */
#ifndef RTF_ATTACHMENTS_H
#define RTF_ATTACHMENTS_H

#include "reservation.h"

/* The loop calls these functions when an attachment's source is ready, or its timer is due. The
 * sources come before all others: a request after the end of a thread must find that the thread's
 * capacity is free. Call attachments_prepare before the first thread is attached. */
struct attachment_calls {
    void (*ended)(struct source *source, uint32_t events);
    void (*watched)(struct source *source, uint32_t events);
    void (*to_watch)(struct timer *timer);
    void (*doubt)(struct timer *timer);
};
void attachments_prepare(const struct attachment_calls *whom);

/* The helper has to apply the grant to the thread once more. */
bool attachment_is_to_be_applied(const struct attachment *attachment);

struct attachment *attachment_find(pid_t tid);
unsigned attachments_count(void);
struct attachment *attachment_new(struct reservation *reservation, const struct identity *identity,
                                  int pidfd, bool by_file, const struct attributes *former);

/* From now on the end of the thread is an event. False with errno, or if another reservation has
 * the thread. */
bool attachment_watch(struct attachment *attachment);
void attachment_end(struct reservation *reservation);

/* The attachment takes the descriptor `watch`, a perf event (-1: none). armed: the watch tells when
 * the thread runs; after that, call attachment_watch_told. False: nothing tells when the thread
 * runs. */
bool attachment_keep_watch(struct attachment *attachment, int watch, bool armed);
void attachment_watch_told(struct attachment *attachment);

/* The thread has ended. Before Linux 6.9 the pidfd of a thread that does not lead its process is
 * the pidfd of the process. */
bool attachment_is_over(const struct attachment *attachment);

/* Returns an attachment to a thread of this process that did not lead the process and has ended;
 * NULL: none. */
struct attachment *attachment_over_in(pid_t process);

/* The watch, now or when it was dropped, has seen the thread end, and has seen no execve(2) of the
 * thread. */
bool attachment_has_died(const struct attachment *attachment);
void attachment_drop_watch(struct attachment *attachment);

/* The thread is real-time and has no watch. It gets a watch a moment later, and no request waits
 * for that. */
void attachment_watch_soon(struct attachment *attachment);

/* attachments_sweep frees the attachment at the end of the turn: an event of this turn may point to
 * it. */
void attachment_bury(struct attachment *attachment);
void attachments_sweep(void);

#endif
