/* Access rules: acl.conf(5), paper 000 section 4. Default deny, intersection, aggregates per subject.
 *
 * A subject is a pair (domain, plugin); what its grants use in all is kept in a counter, and so is what one
 * uid uses of a plugin, for max_user_utilization. A grant holds the list of counters that it was charged to,
 * and exactly those are given back. Charging happens when a request is checked, before any plugin is asked:
 * two requests under way cannot both pass. */
#ifndef RTF_ACL_H
#define RTF_ACL_H

#include <jansson.h>
#include <stdio.h>

#include "names.h"
#include "reservation.h"

struct acl;

/* Those in force. */
extern struct acl *rules;

/* Reads and checks the file. NULL: *reason is "acl.conf:7: ..." and nothing has changed. The plugins that it
 * names are those of plugins.conf. */
struct acl *acl_load(const char *path, char reason[static REASON_BYTES]);
void acl_free(struct acl *acl);

/* No two calls of acl_load return rules with the same number. */
unsigned acl_number(const struct acl *acl);

/* Each rule with its line and its text, for status.json. Null if there are more than ACL_TOLD rules: a client reads no more than 1 MiB of that file. */
enum { ACL_TOLD = 4000 };
json_t *acl_as_json(const struct acl *acl);

/* Calls `each` with every user name and @group that the rules name. */
void acl_names(const struct acl *acl, void (*each)(const char *name));

/* A uid that the rules name by number may have a directory without being in the group. */
bool acl_names_uid(const struct acl *acl, uid_t uid);

/* May `account` have this of `plugin`? What the same reservation holds already, as a grant to be replaced or as
 * another plugin's offer, does not count against it (`own`, two pointers, NULL where there is none). True:
 * *ceiling is the largest runtime it may get (UINT64_MAX: no bound), and what min(desired, ceiling) weighs
 * beyond `own` has been charged to *hold. False: refusal and reason say why; *ceiling is the largest
 * runtime that would pass, 0 if none would. *least is the smallest, 0 where there is no such bound. */
bool acl_check(struct acl *acl, const struct account *account, int plugin, const char *plugin_name, const struct spec *spec,
               const struct grant *const own[2], struct charge *hold, uint64_t *least, uint64_t *ceiling, struct refusal *refusal,
               char reason[static REASON_BYTES]);

/* The same for a claim on another resource, beside what the reservation has been charged for the same plugin (`own`, or NULL). *left is the
 * largest amount that would pass. */
bool acl_check_claim(struct acl *acl, const struct account *account, int plugin, const struct claim *claim, const struct charge *own, struct charge *hold,
                     uint64_t *left, struct refusal *refusal, char reason[static REASON_BYTES]);

/* And for one that asks for no guarantee: a rule has to open the line, and none may close it. Nothing is charged. */
bool acl_check_background(struct acl *acl, const struct account *account, int plugin, struct refusal *refusal, char reason[static REASON_BYTES]);

/* Bounds on the POSIX priority of a plan. The range within which every priority passes, for asking first. */
bool acl_priority_passes(struct acl *acl, const struct account *account, int plugin, int priority, struct refusal *refusal,
                         char reason[static REASON_BYTES]);

/* May `account` say that its spec is so important? That is about no plugin. False: refusal and reason say why. */
bool acl_importance_passes(struct acl *acl, const struct account *account, int importance, struct refusal *refusal, char reason[static REASON_BYTES]);

/* What a grant weighs against max_utilization: its runtime over min(T, D); a whole CPU without either. */
uint64_t acl_weight(const struct spec *spec, uint64_t runtime);

/* Charges `amount` to all counters of (account, plugin). */
void acl_charge(struct acl *acl, const struct account *account, int plugin, uint64_t amount, struct charge *charge);

/* The same for a charge that was made under rules that are going: its counters are forgotten, not given back. */
void acl_charge_again(struct acl *acl, const struct account *account, int plugin, struct charge *charge);

/* Gives back what *charge holds and empties it. */
void acl_release(struct charge *charge);

/* What *from holds is *into's from now on. */
void acl_join(struct charge *into, struct charge *from);

/* For a moment the sums are as if the charge were no more than `amount`; and as they were. */
void acl_set_aside(const struct charge *charge, uint64_t amount);
void acl_bring_back(const struct charge *charge, uint64_t amount);

/* Turns what was held for a request into what its grant weighs. */
void acl_settle(struct charge *charge, uint64_t amount);

/* Appends to a JSON array what each rule says that is consulted for this spec, beside `own` (or NULL) that it would replace: the
 * "rules" of rtf-verdict(5). Charges nothing. Of 300 bytes each, so many fit into the reader's 64 KiB beside what 64 plugins can reply. */
enum { RULES_TOLD = 64 };
void acl_tell(struct acl *acl, const struct account *account, int plugin, const struct spec *spec, const struct grant *own, json_t *list);

/* Whose sum a part of a charge is in, for people; and every sum that is not zero. */
const char *acl_subject(const struct counter *counter);
void acl_each(const struct acl *acl, void (*each)(const char *subject, uint64_t used));

/* Reports, as events, the subjects that are over the bounds of the rules in force: all, and this account. */
void acl_report_overdrawn(const struct acl *acl);
void acl_report_overdrawn_by(struct acl *acl, const struct account *account);

#endif
