/* What happens to reservations, and in which order: their turns (model/fair-queue.h), what was waited for, and what readers tell of files. What the files
 * ask for, reconcile.h says; how a request gets its answer, pipeline.h. */
#ifndef RTF_DISPATCH_H
#define RTF_DISPATCH_H

#include "acl.h"
#include "attach.h"
#include "names.h"
#include "plugins.h"
#include "reservation.h"

bool dispatch_has_queue(void);

/* Looks at some of those that are queued, and goes on with some requests that waited for their turn. */
void dispatch_take_turn(void);

/* What was waited for has come. */
void dispatch_plugin_event(int plugin, const struct plugin_event *event);
void dispatch_allocator_event(const struct helper_event *event);
void dispatch_helper_event(const struct helper_event *event);

/* What readers tell of files (readers.h). */
void dispatch_files(struct user *user, const char *name, struct snapshot *snapshot, struct open_file json);
void dispatch_changed(struct user *user, const char *name);
void dispatch_unwritten(struct user *user, const char *name, const char *request, const char *reason);
void dispatch_odd(struct user *user, const char *name);
void dispatch_overflow(struct user *user);

/* Its reader has died, and what that was told or asked may be forgotten. */
void dispatch_reader_lost(struct user *user, const char *why);

/* Before anything is asked for. */
bool dispatch_prepare(void);

#endif
