/* The shares of a reservation: the parts of a network interface or disk that its grant gives to its
 * thread (allocators.h). The reservation has a class, a number by which the helpers know the
 * granted amounts. The attached thread belongs to the class, by the sockets of its process or by
 * the process itself. The helper makes the class before the verdict says that the share is granted.
 * No request waits until the helper has removed a class. The journal has the number of the class,
 * so that a restart of the broker changes no class. */
#ifndef RTF_SHARES_H
#define RTF_SHARES_H

#include "allocators.h"
#include "reservation.h"

/* Takes over the class that the journal has for the grant of an earlier broker. The helpers then
 * have to be told its shares (shares_are_due). */
void shares_take_up(struct reservation *reservation, uint16_t class);

/* True: the grant gives its thread a guaranteed share, or lets its thread use the capacity that is
 * left, without a guarantee. */
bool shares_take_thread(const struct grant *grant);

/* The plugin of the grant's first share; -1: the grant has no share. */
int shares_plugin(const struct grant *grant);

/* shares_are_due: a helper has not been told a share of the present grant with its present amounts.
 * shares_keep tells the first such share to its helper, and returns the id that the answer will
 * carry. */
bool shares_are_due(const struct reservation *reservation);
uint64_t shares_keep(struct reservation *reservation);

/* Call shares_follow when the grant has ended, or when the former grant is in force again: it tells
 * the helpers the change, and does not wait for their answers. Call shares_failed when the kernel
 * has refused a share: the broker does not know then which amounts are in force, so all shares are
 * told again. */
void shares_follow(struct reservation *reservation);
void shares_failed(struct reservation *reservation);

/* Takes the answer to a message if no request waited for this answer. good: the helper has obeyed
 * the message. If the helper refused, a user may have more than is granted, and other users less.
 * So the broker repeats the message a second later, and after further refusals at growing intervals
 * up to a minute. */
void shares_answered(uint64_t id, bool good);

/* shares_bind: tells the next helper that the attached thread, and the processes and sockets that
 * the thread makes later, belong to the reservation's class. Returns the id that the answer will
 * carry. shares_bind_is_due: a helper has not been told this yet. shares_unbind: tells all helpers
 * that the thread leaves the class. */
bool shares_bind_is_due(const struct attachment *attachment);

/* Notes the thread's former I/O priority. Call this before the thread is recorded in the journal,
 * because the record has this priority. */
void shares_note_former(struct attachment *attachment);
uint64_t shares_bind(struct attachment *attachment);
void shares_unbind(struct attachment *attachment);

/* Returns a sentence about the shares of an attached thread. */
const char *shares_in_words(const struct grant *grant);

/* Tells all classes and threads to a helper that was started again. */
void shares_say_again(enum kept kept);

#endif
