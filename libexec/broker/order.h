/* The order of the stages: what happens between a file's appearance and its verdict. The stages themselves
 * know nothing of one another; this file calls each with the result of the one before.
 *
 *   spool -> spec -> for each plugin in order: acl -> accept -> ledger -> attach -> verdict -> event
 *
 * One request at a time is under way for a reservation; what its files do meanwhile makes the reservation dirty, and it is
 * looked at again afterwards. Requests of other reservations pass. */
#ifndef RTF_ORDER_H
#define RTF_ORDER_H

#include "acl.h"
#include "attach.h"
#include "names.h"
#include "plugins.h"
#include "reservation.h"

/* Looks at the reservation's files and begins the next thing that they ask for. Frees a reservation of which nothing is left. */
void reservation_examine(struct reservation *reservation);

bool order_has_queue(void);

/* Looks at some of those that are queued, and goes on with some requests that waited for their turn. */
void order_take_turn(void);

/* What was waited for has come. */
void order_plugin_event(int plugin, const struct plugin_event *event);
void order_keeper_event(const struct helper_event *event);
void order_helper_event(const struct helper_event *event);
void order_account_known(struct account *account);

/* From now on nothing new begins, or it may again. */
void order_drain(bool begin);

/* The kernel does not show, or may not, what the grant says: the call is made again, when the owner's file has been seen, and he is told why. */
void order_recover(struct reservation *reservation, enum kind kind, const char *reason);

/* What readers tell of files (readers.h). */
void order_files(struct user *user, const char *name, struct sighting *sighting, struct open_file json);
void order_news(struct user *user, const char *name);
void order_unwritten(struct user *user, const char *name, const char *request, const char *reason);
void order_odd(struct user *user, const char *name);
void order_overflow(struct user *user);

/* Its reader has died, and what that was told or asked may be forgotten. */
void order_reader_lost(struct user *user, const char *why);

/* Before anything is asked for. */
bool order_prepare(void);

#endif
