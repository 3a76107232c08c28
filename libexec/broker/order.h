/* The order of the stages: what happens between a file's appearance and its verdict. The stages themselves
 * know nothing of one another; this file calls each with the result of the one before.
 *
 *   spool -> spec -> for each plugin in order: acl -> accept -> ledger -> attach -> verdict -> event
 *
 * One request at a time is under way for a wish; what its files do meanwhile makes the wish dirty, and it is
 * looked at again afterwards. Requests of other wishes pass. */
#ifndef RTF_ORDER_H
#define RTF_ORDER_H

#include "acl.h"
#include "attach.h"
#include "names.h"
#include "plugins.h"
#include "wish.h"

/* Looks at the wish's files and begins the next thing that they ask for. Frees a wish of which nothing is left. */
void wish_examine(struct wish *wish);

/* What was waited for has come. */
void order_plugin_event(int plugin, const struct plugin_event *event);
void order_helper_event(const struct helper_event *event);
void order_account_known(struct account *account);
void order_thread_ended(struct attachment *attachment);

/* Everything that was granted under the old rules is charged under the new ones. */
void order_new_rules(struct acl *acl);

/* After a restart: the kernel does not show what the grant says, and the call is made again. */
void order_recover(struct wish *wish);

/* A verdict without a request: what holds changed, or a restart cut off the one that was due. */
void answer_again(struct wish *wish, enum kind kind, const char *reason);

/* Verdicts that the file system did not take are tried again. */
int64_t order_deadline(void);
void order_expire(int64_t now);

#endif
