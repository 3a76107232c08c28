/* Access rules: acl.conf(5), section 4 of the ReTiF paper. Nothing is allowed by default. A request
 * has to pass all rules that match it. Some rules bound a sum over all grants of a subject.
 *
 * A subject is a pair (domain, plugin). A counter has the sum of a subject. For
 * max_user_utilization, each uid also has a counter under each plugin. For max_user_threads, each
 * uid also has a counter of reservations under each plugin. A charge is a list of counters, with
 * the amount that a grant has added to each counter. Releasing the charge subtracts exactly these
 * amounts. A request is charged during the check, before any plugin is asked, so that two requests
 * at the same time cannot both take the last free part of a sum. */
#ifndef RTF_ACL_H
#define RTF_ACL_H

#include <jansson.h>
#include <stdio.h>

#include "names.h"
#include "reservation.h"

struct acl;

/* The rules in force. */
extern struct acl *rules;

/* Reads and checks the file. NULL: *reason is "acl.conf:7: ...", and the rules in force have not
 * changed. Call this after plugins.conf is read, because rules name plugins of plugins.conf. */
struct acl *acl_load(const char *path, char reason[static REASON_BYTES]);
void acl_free(struct acl *acl);

/* Returns a number that identifies these rules. Each call of acl_load gives its rules another
 * number. */
unsigned acl_number(const struct acl *acl);

/* Returns each rule with its line number and its text, for status.json. Returns null if there are
 * more than ACL_TOLD rules, because a client reads at most 1 MiB of status.json. */
enum { ACL_TOLD = 4000 };
json_t *acl_as_json(const struct acl *acl);

/* Calls `each` with every user name and @group that the rules name. */
void acl_names(const struct acl *acl, void (*each)(const char *name));

/* True: the rules name this uid by number. A user with such a uid may have a directory without
 * being in the spool's group. */
bool acl_names_uid(const struct acl *acl, uid_t uid);

/* True: the file has a rule `min_runtime tick`. */
bool acl_has_tick(const struct acl *acl);

/* May `account` have the CPU time of the spec from `plugin`? `own` has two grants: the grant that
 * the request would replace, and the offer of another plugin. Each may be NULL. The charges of
 * these two grants do not count against the request. True: *ceiling is the largest runtime that the
 * rules allow (UINT64_MAX: no bound). *hold is charged with the weight (acl_weight) of min(desired,
 * ceiling), less the charges of `own`. False: refusal and reason say why. *ceiling is then the
 * largest runtime that the rules would allow; 0: the rules allow no runtime. In both cases, *least
 * is the smallest runtime that the rules allow; 0: no bound. */
bool acl_check(struct acl *acl, const struct account *account, int plugin, const char *plugin_name,
               const struct spec *spec, const struct grant *const own[2], struct charge *hold,
               uint64_t *least, uint64_t *ceiling, struct refusal *refusal,
               char reason[static REASON_BYTES]);

/* Checks a claim on a resource other than CPU time in the same way. `own` is the reservation's
 * present charge for the same plugin, or NULL. *left is the largest amount that the rules would
 * allow. */
bool acl_check_claim(struct acl *acl, const struct account *account, int plugin,
                     const struct claim *claim, const struct charge *own, struct charge *hold,
                     uint64_t *left, struct refusal *refusal, char reason[static REASON_BYTES]);

/* Checks a claim without a guarantee. A rule on the sum of the plugin has to match the account, and
 * no such rule may have the bound 0. Nothing is charged. */
bool acl_check_background(struct acl *acl, const struct account *account, int plugin,
                          struct refusal *refusal, char reason[static REASON_BYTES]);

/* May the plan of `plugin` have this POSIX priority? False: refusal and reason say why. */
bool acl_priority_passes(struct acl *acl, const struct account *account, int plugin, int priority,
                         struct refusal *refusal, char reason[static REASON_BYTES]);

/* May the specs of `account` have this importance? Rules on importance name no plugin. False:
 * refusal and reason say why. */
bool acl_importance_passes(struct acl *acl, const struct account *account, int importance,
                           struct refusal *refusal, char reason[static REASON_BYTES]);

/* May a spec of `account` have these extras? Rules on extras name no plugin. `locked`: the bytes of
 * lock_memory that the user's other specs have. False: refusal and reason say why. */
bool acl_extras_pass(struct acl *acl, const struct account *account, const struct extras *extras,
                     uint64_t locked, struct refusal *refusal, char reason[static REASON_BYTES]);

/* May the account trace its own threads? Rules on traces name no plugin. False: reason says why. */
bool acl_may_trace(const struct acl *acl, const struct account *account,
                   char reason[static REASON_BYTES]);

/* The weight of a grant: what the grant adds to the sums of max_utilization. The weight is the
 * runtime divided by the period or the deadline, the shorter of the two. If the spec states
 * neither, the weight is a whole CPU. */
uint64_t acl_weight(const struct spec *spec, uint64_t runtime);

/* Charges `amount` to all counters of (account, plugin). */
void acl_charge(struct acl *acl, const struct account *account, int plugin, uint64_t amount,
                struct charge *charge);

/* Replaces *charge, which old rules have made, by a charge under the new rules of a reload. The
 * counters of the old rules are freed, so nothing is subtracted from them. */
void acl_charge_again(struct acl *acl, const struct account *account, int plugin,
                      struct charge *charge);

/* Subtracts the charge from its counters, and empties *charge. */
void acl_release(struct charge *charge);

/* Adds the charge of *from to *into, and empties *from. */
void acl_join(struct charge *into, struct charge *from);

/* acl_set_aside lowers the sums for a trial (trial.h), as if the charge were at most `amount`.
 * acl_bring_back undoes this. */
void acl_set_aside(const struct charge *charge, uint64_t amount);
void acl_bring_back(const struct charge *charge, uint64_t amount);

/* Sets the charge to `amount`. During admission, a request is charged for the most that it may get.
 * When the request is granted, this function reduces the charge to the granted amount. */
void acl_settle(struct charge *charge, uint64_t amount);

/* Sets the charge of a debt (debts.h) to `amount`. The amount is the part of the old grant's charge
 * that the new grant does not need. Counters of threads are not charged, because the charge of the
 * new grant counts the thread. */
void acl_settle_rest(struct charge *charge, uint64_t amount);

/* Appends to a JSON array what each rule says about this spec: the "rules" of rtf-verdict(5). `own`
 * (or NULL) is the grant that the new grant would replace. Nothing is charged. The list has at most
 * RULES_TOLD rules. RULES_TOLD rules of 300 bytes and the replies of 64 plugins fit into the 64 KiB
 * that a reader accepts as a verdict. */
enum { RULES_TOLD = 64 };
void acl_tell(struct acl *acl, const struct account *account, int plugin, const struct spec *spec,
              const struct grant *own, json_t *list);

/* acl_subject names the subject of a counter for people. acl_each calls `each` for each sum that is
 * not zero. */
const char *acl_subject(const struct counter *counter);
void acl_each(const struct acl *acl, void (*each)(const char *subject, uint64_t used));

/* Writes an event for each sum that is above a bound of the rules in force. acl_report_exceeded
 * looks at the sums of all users together. acl_report_exceeded_by looks only at the sums of this
 * account. */
void acl_report_exceeded(const struct acl *acl);
void acl_report_exceeded_by(struct acl *acl, const struct account *account);

#endif
