/* The attached threads, and those that are about to be. */
#ifndef RTF_ATTACHMENTS_H
#define RTF_ATTACHMENTS_H

#include "reservation.h"

/* What the loop calls when an attachment's source is ready or its timer due; before anything is attached. Who asks after a thread has ended must
 * find what it has given back: these sources come first. */
struct attachment_calls {
    void (*ended)(struct source *source, uint32_t events);
    void (*watched)(struct source *source, uint32_t events);
    void (*to_watch)(struct timer *timer);
    void (*doubt)(struct timer *timer);
};
void attachments_prepare(const struct attachment_calls *whom);

/* What it has been granted is to be applied once more. */
bool attachment_is_to_be_applied(const struct attachment *attachment);

struct attachment *attachment_find(pid_t tid);
unsigned attachments_count(void);
struct attachment *attachment_new(struct reservation *reservation, const struct identity *identity, int pidfd, bool by_file, const struct attributes *former);

/* From here on the end of the thread is an event. False with errno, or when another reservation has the thread. */
bool attachment_watch(struct attachment *attachment);
void attachment_end(struct reservation *reservation);

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

/* It is real-time and not watched as it should be: that is done a moment later, and nobody waits for it. */
void attachment_watch_soon(struct attachment *attachment);

/* Freed by attachments_sweep, when the events in hand have been dealt with: one of them may point here. */
void attachment_bury(struct attachment *attachment);
void attachments_sweep(void);

#endif
