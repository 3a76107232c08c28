/* The rules in memory, for the files that read, judge and report rules: acl-parse.c,
 * acl-weight.c, acl-judge.c, max-user-threads.c, min-runtime.c, acl-extras.c, acl-exceeded-sums.c,
 * acl-report.c. */
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
    char name[64]; /* the word in the file, without the @ */
    uint32_t id;
    int plugin;
    enum property property;
    uint64_t value; /* the bound; of min_nice, without the sign */
    bool bandwidth; /* the amount is written as a rate (max_bandwidth) */
    /* min_runtime tick: bounds only plugins whose runtimes the kernel ends at a tick;
     * max_user_threads tick: `value` comes from the tick and the CPUs (max-user-threads.h) */
    bool tick;
    char text[192]; /* the line with single blanks */
    /* the counter with the sum of the subject; only for max_utilization and max_amount */
    struct counter *counter;
};

/* The sum that a subject (acl.h) uses, in billionths of a CPU, or in the unit of the plugin's
 * resource. of_threads: the counter counts reservations instead. */
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
    /* when there are this many counters, acl-weight.c frees the ones without references */
    unsigned most_counters;
};

/* rule_is_of: true if the rule's domain includes this account. rule_matches: true if the rule is
 * about this plugin, too. */
bool rule_is_of(const struct rule *rule, const struct account *account);
bool rule_matches(const struct rule *rule, const struct account *account, int plugin);

/* True: the rule bounds a sum of amounts of a resource other than CPU time. Each plugin has such
 * sums of its own. */
bool rule_is_of_amounts(const struct rule *rule);

/* True: a claim on this resource has the value that the rule bounds. */
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
    bool denied_for_good; /* no runtime passes, however small */
};

void rule_judge(struct question *question, const struct rule *rule);

/* Notes that the rule refuses the request. The refusal names only the first rule that refuses.
 * remedy: the rule may pass when capacity is freed, or with another runtime, or never. */
enum remedy { WHEN_FREED, OTHER_RUNTIME, NONE };
void rule_denies(struct question *question, const struct rule *rule, enum remedy remedy,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Tells the time that the spec asks for, and the time that the rule allows, if the refusal does not
 * tell other values yet. us. */
void refusal_tell_time(struct refusal *refusal, uint64_t asked, uint64_t available);

/* Refuses the request, because no rule allows `what`. */
void deny_by_default(struct question *question, const char *plugin_name, const char *what);

/* Returns how much of the rule's sum is in use, without the charges of question->own. */
uint64_t rule_used(const struct question *question, const struct rule *rule);

/* Writes a sum that the rule bounds: CPU time as a number of CPUs, and threads and amounts of other
 * resources as whole numbers. Returns text. */
const char *format_sum(const struct rule *rule, uint64_t sum, char text[static UTILIZATION_TEXT]);

#endif
