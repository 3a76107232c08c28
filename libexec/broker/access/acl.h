/* Access rules: acl.conf(5), paper 000 section 4. Deny by default, intersection of rules,
 * aggregates per subject.
 *
 * A subject is a pair (domain, plugin). A counter has the sum that all grants of the subject use.
 * For max_user_utilization, one uid under one plugin has a counter, too. For max_user_threads, one
 * uid under one plugin has a counter of reservations. A grant keeps the list of counters that it was
 * charged to, and gives back exactly these charges. The charge happens during
 * the check, before any plugin is asked: two requests under way cannot both take the last of a
 * sum. */
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
 * changed. Rules name plugins of plugins.conf. */
struct acl *acl_load(const char *path, char reason[static REASON_BYTES]);
void acl_free(struct acl *acl);

/* Each call of acl_load returns rules with another number. */
unsigned acl_number(const struct acl *acl);

/* Each rule with its line number and its text, for status.json. Null if there are more than
 * ACL_TOLD rules: a client reads at most 1 MiB of status.json. */
enum { ACL_TOLD = 4000 };
json_t *acl_as_json(const struct acl *acl);

/* Calls `each` with every user name and @group that the rules name. */
void acl_names(const struct acl *acl, void (*each)(const char *name));

/* True: the rules name this uid by number. Such a uid may have a directory without being in the
 * group. */
bool acl_names_uid(const struct acl *acl, uid_t uid);

/* May `account` have the spec's CPU time of `plugin`? `own` is two grants, each may be NULL: the
 * grant to be replaced, and another plugin's offer. Their charges do not count against the request.
 * True: *ceiling is the largest runtime that the rules allow (UINT64_MAX: no bound), and *hold has
 * been charged with the weight of min(desired, ceiling) beyond `own`. False: refusal and reason say
 * why; *ceiling is the largest runtime that would pass, 0 if none would. *least is the smallest
 * runtime that the rules allow; 0: no bound. */
bool acl_check(struct acl *acl, const struct account *account, int plugin, const char *plugin_name,
               const struct spec *spec, const struct grant *const own[2], struct charge *hold,
               uint64_t *least, uint64_t *ceiling, struct refusal *refusal,
               char reason[static REASON_BYTES]);

/* The same for a claim on another resource. `own` is the reservation's present charge for the same
 * plugin, or NULL. *left is the largest amount that would pass. */
bool acl_check_claim(struct acl *acl, const struct account *account, int plugin,
                     const struct claim *claim, const struct charge *own, struct charge *hold,
                     uint64_t *left, struct refusal *refusal, char reason[static REASON_BYTES]);

/* The same for a claim without a guarantee: a rule has to open the line, and no rule may close it.
 * Nothing is charged. */
bool acl_check_background(struct acl *acl, const struct account *account, int plugin,
                          struct refusal *refusal, char reason[static REASON_BYTES]);

/* acl_priority_passes judges the POSIX priority of a plan. The other function returns the range of
 * priorities that pass, for the question to the plugin. */
bool acl_priority_passes(struct acl *acl, const struct account *account, int plugin, int priority,
                         struct refusal *refusal, char reason[static REASON_BYTES]);

/* May the specs of `account` have this importance? The rule is about no plugin. False: refusal and
 * reason say why. */
bool acl_importance_passes(struct acl *acl, const struct account *account, int importance,
                           struct refusal *refusal, char reason[static REASON_BYTES]);

/* May a spec of `account` have these extras? The rules are about no plugin. `locked`: the bytes of
 * lock_memory that the user's other specs have. False: refusal and reason say why. */
bool acl_extras_pass(struct acl *acl, const struct account *account, const struct extras *extras,
                     uint64_t locked, struct refusal *refusal, char reason[static REASON_BYTES]);

/* The weight of a grant against max_utilization: its runtime over min(T, D); a whole CPU where the
 * spec states neither T nor D. */
uint64_t acl_weight(const struct spec *spec, uint64_t runtime);

/* Charges `amount` to all counters of (account, plugin). */
void acl_charge(struct acl *acl, const struct account *account, int plugin, uint64_t amount,
                struct charge *charge);

/* The same for a charge under rules that a reload replaces: the old counters are forgotten, and
 * nothing is given back to them. */
void acl_charge_again(struct acl *acl, const struct account *account, int plugin,
                      struct charge *charge);

/* Gives back the charge, and empties *charge. */
void acl_release(struct charge *charge);

/* Moves the charge of *from to *into. */
void acl_join(struct charge *into, struct charge *from);

/* Lowers the sums for a trial, as if the charge were at most `amount`; acl_bring_back undoes
 * this. */
void acl_set_aside(const struct charge *charge, uint64_t amount);
void acl_bring_back(const struct charge *charge, uint64_t amount);

/* Turns the hold of a request into the weight of its grant. */
void acl_settle(struct charge *charge, uint64_t amount);

/* The same for what a grant has given up, and its successor does not hold. The successor's charge
 * counts the thread, so this charge does not. */
void acl_settle_rest(struct charge *charge, uint64_t amount);

/* Appends to a JSON array what each rule says about this spec, beside `own` (or NULL), which the
 * grant would replace: the "rules" of rtf-verdict(5). Nothing is charged. RULES_TOLD rules of 300
 * bytes fit into the reader's 64 KiB beside the replies of 64 plugins. */
enum { RULES_TOLD = 64 };
void acl_tell(struct acl *acl, const struct account *account, int plugin, const struct spec *spec,
              const struct grant *own, json_t *list);

/* The subject of a counter, for people; and each sum that is not zero. */
const char *acl_subject(const struct counter *counter);
void acl_each(const struct acl *acl, void (*each)(const char *subject, uint64_t used));

/* Writes an event for each subject whose sum is above a bound of the rules in force: of all
 * subjects, or of this account. */
void acl_report_overdrawn(const struct acl *acl);
void acl_report_overdrawn_by(struct acl *acl, const struct account *account);

#endif
