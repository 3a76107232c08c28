/* The access rules of acl.conf(5) in memory. These files read, judge and report the rules:
 * acl-parse.c, acl-weight.c, acl-judge.c, max-user-threads.c, min-runtime.c, acl-extras.c,
 * acl-exceeded-sums.c, acl-report.c. */
#ifndef RTF_ACL_RULES_H
#define RTF_ACL_RULES_H

#include "account.h"
#include "resource.h"
#include "units.h"

enum property {
    MAX_UTILIZATION,
    MAX_USER_UTILIZATION,
    MAX_USER_THREADS,
    MIN_RUNTIME,
    MAX_RUNTIME,
    MIN_PERIOD,
    MAX_PERIOD,
    MIN_DEADLINE,
    MAX_DEADLINE,
    MIN_PRIORITY,
    MAX_PRIORITY,
    IGNORE_ADM_TEST,
    RECLAIM,
    MAX_AMOUNT,
    MAX_USER_AMOUNT,
    MIN_BLOCK,
    MAX_BLOCK,
    MAX_IMPORTANCE,
    MAX_LOCK_MEMORY,
    MAX_USER_LOCK_MEMORY,
    MIN_CPU_LATENCY,
    MIN_NICE,
    MAX_CLAMP,
    TRACE,
    PROPERTIES
};
enum domain { EVERYBODY, USER_NAME, USER_ID, GROUP_NAME, GROUP_ID };
enum { ANY_PLUGIN = -1 };

struct rule {
    int line;
    enum domain domain;
    char name[64]; /* the first word of the rule, without the @ of a group */
    uint32_t id;
    int plugin;
    enum property property;
    uint64_t value; /* the bound; of min_nice, without the sign */
    bool bandwidth; /* the amount is written as a rate (max_bandwidth) */
    /* the value in acl.conf is the word tick. `min_runtime tick` bounds a plugin only if the kernel
     * ends its runtimes at a tick. For `max_user_threads tick`, the broker computes the bound from
     * the length of the tick and the number of CPUs (max-user-threads.h) */
    bool tick;
    char text[192]; /* the line with single blanks */
    /* the counter with the sum that the rule bounds; only for max_utilization and max_amount */
    struct counter *counter;
};

/* The sum that a subject (acl.h) uses, in billionths of a CPU, or in the unit of the plugin's
 * resource. of_threads: the counter has the number of reservations and no sum. */
struct counter {
    char key[104];
    uint64_t used;
    bool of_threads;
    unsigned held; /* number of rules and of parts of charges that refer to this counter */
    UT_hash_handle hh;
};

struct acl {
    unsigned number; /* number of rule sets that were loaded before this one */
    struct rule *rules;
    int count;
    struct counter *counters;
    /* when there are this many counters, acl-weight.c frees the counters without references */
    unsigned most_counters;
};

/* rule_is_of: true if the rule's domain includes this account. rule_matches: true if the rule's
 * domain includes this account, and the rule is about this plugin. */
bool rule_is_of(const struct rule *rule, const struct account *account);
bool rule_matches(const struct rule *rule, const struct account *account, int plugin);

/* True: the rule bounds a sum of amounts of a resource other than CPU time. Each plugin has
 * separate sums. */
bool rule_is_of_amounts(const struct rule *rule);

/* True: the rule bounds a value that each claim on this resource has. */
bool rule_concerns(const struct rule *rule, enum resource resource);

/* Returns the counter with the sum that the rule bounds; NULL: the rule bounds no sum. */
struct counter *rule_counter(struct acl *acl, const struct rule *rule,
                             const struct account *account);
struct counter *acl_user_counter(struct acl *acl, const struct rule *rule, uid_t uid);
struct counter *acl_counter(struct acl *acl, const char *key);

/* Returns the part of the charge that is in this counter. */
uint64_t acl_charged(const struct charge *charge, const struct counter *counter);

bool rule_opens(const struct rule *rule);

/* True: the rule bounds the sum, or the number of reservations, of each user separately. */
bool rule_is_of_each(const struct rule *rule);

/* True: the rule is about extras (acl-extras.c): what a thread gets beside CPU time. */
bool rule_is_of_extras(const struct rule *rule);

/* The request that the rules judge, and the result so far. */
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
    bool denied_for_good; /* a rule refuses the request with every runtime, even the smallest */
};

void rule_judge(struct question *question, const struct rule *rule);

/* Notes that the rule refuses the request. The refusal names only the first rule that refuses.
 * remedy: the rule may allow the request when capacity comes free, or with another runtime, or
 * never. */
enum remedy { WHEN_FREED, OTHER_RUNTIME, NONE };
void rule_denies(struct question *question, const struct rule *rule, enum remedy remedy,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Writes into the refusal the time that the spec asks for, and the time that the rule allows, in
 * us. Does nothing if the refusal has such values already. */
void refusal_tell_time(struct refusal *refusal, uint64_t asked, uint64_t available);

/* Refuses the request, because no rule does `what`. `what` is a phrase such as "allows nice
 * (min_nice)". */
void deny_by_default(struct question *question, const char *plugin_name, const char *what);

/* Returns how much of the rule's sum is in use. The grants question->own do not count
 * (acl_check). */
uint64_t rule_used(const struct question *question, const struct rule *rule);

/* Writes a sum that the rule bounds: CPU time as a number of CPUs, and threads and amounts of other
 * resources as whole numbers. Returns text. */
const char *format_sum(const struct rule *rule, uint64_t sum, char text[static UTILIZATION_TEXT]);

#endif
