/* The rules as they are kept, for the files that read, judge and tell them: acl.c, acl-judge.c, acl-tell.c. */
#ifndef RTF_ACL_RULES_H
#define RTF_ACL_RULES_H

#include "account.h"
#include "resource.h"

enum property {
    MAX_UTILIZATION, MAX_USER_UTILIZATION, MIN_RUNTIME, MAX_RUNTIME, MIN_PERIOD, MAX_PERIOD, MIN_DEADLINE, MAX_DEADLINE,
    MIN_PRIORITY, MAX_PRIORITY, IGNORE_ADM_TEST, MAX_AMOUNT, MAX_USER_AMOUNT, MIN_BLOCK, MAX_BLOCK, MAX_IMPORTANCE, PROPERTIES
};
enum domain { EVERYBODY, USER_NAME, USER_ID, GROUP_NAME, GROUP_ID };
enum { ANY_PLUGIN = -1 };

struct rule {
    int line;
    enum domain domain;
    char name[64]; /* as written, without the @ */
    uint32_t id;
    int plugin;
    enum property property;
    uint64_t value;
    bool bandwidth; /* an amount that was written as one */
    bool tick; /* min_runtime tick: for plugins of which the kernel ends a runtime at a tick only */
    char text[192]; /* the line, blanks folded */
    struct counter *counter; /* of the subject, for max_utilization */
};

/* What a subject, or (for_uid) one uid under one plugin, uses in all: billionths of a CPU, or of a plugin's other resource in its unit. */
struct counter {
    char key[104];
    uint64_t used;
    unsigned held; /* by rules and parts of charges */
    UT_hash_handle hh;
};

struct acl {
    unsigned number; /* how many rule sets were loaded before this one */
    struct rule *rules;
    int count;
    struct counter *counters;
    unsigned most_counters; /* before those that nothing holds are forgotten */
};

/* Is this account of that domain, and this rule one for it on that plugin? */
bool rule_is_of(const struct rule *rule, const struct account *account);
bool rule_matches(const struct rule *rule, const struct account *account, int plugin);

/* Is it a bound on a sum of amounts of another resource than CPU time? Those are for one plugin each. */
bool rule_is_of_amounts(const struct rule *rule);

/* Has that resource what the rule bounds? */
bool rule_concerns(const struct rule *rule, enum resource resource);

/* Whose use a rule bounds: NULL where it is none of a sum. */
struct counter *rule_counter(struct acl *acl, const struct rule *rule, const struct account *account);
struct counter *acl_user_counter(struct acl *acl, uid_t uid, int plugin);
struct counter *acl_counter(struct acl *acl, const char *key);

bool rule_opens(const struct rule *rule);

/* Of min_runtime: `tick` bounds only where the kernel ends a runtime at a tick. */
bool rule_bounds_least(const struct rule *rule, int plugin);

/* What somebody asks for, and what has been said so far. */
struct question {
    struct acl *acl;
    const struct account *account;
    int plugin;
    const struct spec *spec;
    const struct grant *const *own;
    uint64_t least, ceiling;
    struct refusal *refusal;
    char *reason;
    bool denied, never;
    bool denied_for_good; /* no runtime, however small, would pass */
};

void rule_judge(struct question *question, const struct rule *rule);

/* What is in use of a rule's sum beside what the same reservation holds. */
uint64_t rule_used(const struct question *question, const struct rule *rule);

#endif
