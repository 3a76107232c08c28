/* The shares of a reservation in the interfaces and disks of allocators.h. The reservation has a
 * class with the granted amounts, and its attached thread belongs to the class: by the sockets of
 * its process, or by the process itself. The helper makes the class before the verdict says that
 * the share is granted. No request waits for the end of a class. A restart changes no class: the
 * journal has its number. */
#ifndef RTF_SHARES_H
#define RTF_SHARES_H

#include "allocators.h"
#include "reservation.h"

/* Takes over the class of a grant from the journal. Its shares are due. */
void shares_take_up(struct reservation *reservation, uint16_t class);

/* The grant gives its thread a share besides CPU time: a guaranteed share, or a part of the rest
 * without a guarantee. */
bool shares_take_thread(const struct grant *grant);

/* The plugin of the grant's first share; -1: it has no share. */
int shares_plugin(const struct grant *grant);

/* shares_are_due: a helper does not know a share as it is granted now. shares_keep tells the first
 * such share to its helper, and returns the id of the answer. */
bool shares_are_due(const struct reservation *reservation);
uint64_t shares_keep(struct reservation *reservation);

/* shares_follow: the grant has ended or has changed back; tells the helpers, and waits for no
 * answer. shares_failed: the kernel has refused a share, so the broker does not know what the
 * helpers keep. */
void shares_follow(struct reservation *reservation);
void shares_failed(struct reservation *reservation);

/* The answer to a message for which no request waited. If it was refused, a user may have more than
 * is granted, and others less. So the broker repeats the message a second later, and then less and
 * less often. */
void shares_answered(uint64_t id, bool good);

/* shares_bind: the attached thread, and the processes and sockets that it makes later, get the
 * reservation's class, with one helper at a time; returns the id of the answer. shares_unbind: they
 * lose it. */
bool shares_bind_is_due(const struct attachment *attachment);

/* Notes the thread's former I/O priority. Call this before the journal gets the record of the
 * thread. */
void shares_note_former(struct attachment *attachment);
uint64_t shares_bind(struct attachment *attachment);
void shares_unbind(struct attachment *attachment);

/* A sentence about the shares of an attached thread. */
const char *shares_in_words(const struct grant *grant);

/* Tells a helper that was started again all classes and threads. */
void shares_say_again(enum kept kept);

#endif
