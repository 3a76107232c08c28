/* plugins.conf(5): what the administrator sets for each plugin. Read at start only. */
#ifndef RTF_PLUGIN_LINES_H
#define RTF_PLUGIN_LINES_H

#include "reservation.h"

enum partition { PARTITION_GLOBAL, PARTITION_UNTHROTTLED, PARTITION_CPUSET };

struct plugin_line {
    int line;
    char name[PLUGIN_NAME_BYTES];
    char *program; /* absolute */
    enum resource resource; /* what it admits to: CPU time, or what resource= says; then it has neither priorities nor CPUs */
    uint64_t capacity;      /* of that resource, in its unit: capacity= */
    int lowest, highest; /* POSIX priorities; 0, 0 for SCHED_DEADLINE */
    bool deadline;       /* plans SCHED_DEADLINE */
    char tests[16];      /* what its ok proves, as it said in its greeting: none, necessary, sufficient, exact */
    bool proves;         /* sufficient or exact */
    bool promises;       /* its tasks count in the ledger: it tests at all, or threshold= was given */
    bool judges;         /* it can tell whether its promises bear a task of another plugin */
    bool tested;         /* every task it grants states a runtime and has passed its test */
    bool greeted;
    cpu_set_t cpus;
    enum partition partition;
    bool domains;        /* its threads are put into a scheduling domain of their CPU: partition=cpuset, confine=cpuset */
    bool enforced;       /* enforce=runtime: its threads are guarded (guard.h) */
    char where[WHERE_BYTES]; /* of resource=network: whose link this is; of resource=disk: which */
    uint64_t rate;           /* of the link, bits a second */
    struct disk_rates rates; /* of the disk: throughput= */
    bool kept;               /* enforce=htb, enforce=cgroup: what is promised of it is kept (shares.h) */
    bool raises;             /* enforce=ioprio: so far as its threads come before others */
    bool keeps_desired;      /* desired=kept: what is granted beyond what is needed stays where it is (desired-amounts.h) */
    uint64_t threshold; /* billionths, for each CPU; in the broker's own ledger */
    int64_t timeout;    /* ns */
    char *words;        /* as given, blank-separated */
    char *text;         /* the line, blanks folded */
    char off[REASON_BYTES]; /* why nothing is granted of it, for what is to be kept cannot be had; "": it is on */
};

/* Reads and checks the file; relative programs are looked for in `directory`. False: "plugins.conf:LINE: ...". */
bool plugins_load(const char *path, const char *directory, char reason[static REASON_BYTES]);

int plugins_count(void);
int plugin_index(const char *name); /* -1 */

/* What the claim takes of the line's capacity; and the largest first value with which it would take no more than this. */
uint64_t plugin_weight(int plugin, const struct claim *claim);
uint64_t plugin_within(int plugin, const struct claim *claim, uint64_t weight);

const struct plugin_line *plugin_line(int plugin);
int plugins_highest_priority(void);

/* From here on nothing is granted of it, and nothing kept. */
void plugin_turn_off(int plugin, const char *reason);

/* The CPUs that are to be domains of their own. */
void plugins_domains(cpu_set_t *cpus);

bool plugins_share_cpu(int plugin, int other);

/* What its ok proves it says itself when it is started. False: it said otherwise before it was restarted. */
bool plugin_has_greeted(int plugin, const char *tests, bool judges, bool tested);

/* Has `judge` to be asked before `plugin` grants this plan? Only what runs above its own threads, or among them,
 * can break what it has promised. */
bool plugin_must_judge(int judge, int plugin, const struct attributes *plan);

/* Is there a plan of `plugin` that others have to judge? */
bool plugin_may_be_judged(int plugin);

/* Could what is granted between a change and its undoing be in the way of that? */
bool plugin_takes_turns(int plugin);

/* And even new reservations are asked one at a time, users in turn. */
bool plugin_is_asked_alone(int plugin);

/* After all have greeted: can their promises hold beside one another? False: *reason. */
bool plugins_check_neighbours(char reason[static REASON_BYTES]);

#endif
