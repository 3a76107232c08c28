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
#include "plugins.h"
#include "spool.h"
#include "wish.h"

/* The rules in force. */
extern struct acl *rules;
extern int max_wishes;

/* Looks at the wish's files and begins the next thing that they ask for. Frees a wish of which nothing is left. */
void wish_examine(struct wish *wish);

/* NULL when `create` is false and there is none. */
struct wish *wish_find(struct user *user, const char *name, bool create);
struct wish *wish_of_task(uint64_t task);
void wish_forget(struct wish *wish);

void order_plugin_event(int plugin, const struct plugin_event *event);
void order_helper_event(const struct helper_event *event);
void order_account_known(struct account *account);
void order_thread_ended(struct attachment *attachment);

/* Everything that was granted under the old rules is charged under the new ones. */
void order_new_rules(struct acl *acl);

/* Verdicts that the file system did not take. */
int64_t order_deadline(void);
void order_expire(int64_t now);

/* Attachments that ended during this turn of the loop; events for them may still be in hand. */
void order_sweep(void);

/* For recover.c: takes a grant into the books, and out of them. */
void grant_book(struct wish *wish, struct grant *grant);
void grant_unbook(struct wish *wish, bool tell_plugin);
void tell_neighbours(struct wish *wish, const struct grant *before, const struct grant *after);
struct attachment *attachment_new(struct wish *wish, pid_t tid, uint64_t start, int pidfd, bool by_file, const struct attributes *former);
bool attachment_watch(struct attachment *attachment);
void attachment_end(struct wish *wish);
void begin_recover(struct wish *wish);
void answer_again(struct wish *wish, enum kind kind, const char *reason);
uint64_t new_task(void);
void tasks_from(uint64_t first);

/* All wishes in the order of their making: this, and then wish->hh_task.next. */
struct wish *wish_first(void);
uint64_t grant_utilization(const struct grant *grant);

#endif
