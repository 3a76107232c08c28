/* The work of one turn of the loop. The broker goes on with reservations of the queue
 * (model/fair-queue.h), and takes messages: the answers of plugins and helpers, and the reports of
 * readers. reconcile.h finds the request that a reservation's files ask for; pipeline.h says how a
 * request gets its answer. */
#ifndef RTF_DISPATCH_H
#define RTF_DISPATCH_H

#include "acl.h"
#include "attach.h"
#include "names.h"
#include "plugins.h"
#include "reservation.h"

bool dispatch_has_queue(void);

/* Looks at some reservations of the queue, and goes on with some requests whose turn to ask a
 * plugin has come. The rest wait for the next turn of the loop, so that messages do not wait
 * long. */
void dispatch_take_turn(void);

/* Take the messages of plugins, of the helpers for links and disks, and of the attach helper. */
void dispatch_plugin_event(int plugin, const struct plugin_event *event);
void dispatch_allocator_event(const struct helper_event *event);
void dispatch_helper_event(const struct helper_event *event);

/* Take the reports of readers (readers.h). */
void dispatch_files(struct user *user, const char *name, struct snapshot *snapshot,
                    struct open_file json);
void dispatch_changed(struct user *user, const char *name);
void dispatch_unwritten(struct user *user, const char *name, const char *request,
                        const char *reason);
void dispatch_odd(struct user *user, const char *name);
void dispatch_overflow(struct user *user);

/* Call this when the user's reader has died. Gives the orders that the reader had not carried out
 * to the next reader, and looks again at the reservations that waited for a report. */
void dispatch_reader_lost(struct user *user, const char *why);

/* Call this before the first request. False: errno says why. */
bool dispatch_prepare(void);

#endif
