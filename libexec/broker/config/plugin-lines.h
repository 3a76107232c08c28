/* The lines of plugins.conf(5): the settings of each plugin. The file is read at start only. */
#ifndef RTF_PLUGIN_LINES_H
#define RTF_PLUGIN_LINES_H

#include "reservation.h"

enum partition { PARTITION_GLOBAL, PARTITION_UNTHROTTLED, PARTITION_CPUSET };

struct plugin_line {
    int line;
    char name[PLUGIN_NAME_BYTES];
    char *program; /* absolute path */
    /* CPU time; or the resource that resource= names: such a line has neither priorities nor
     * CPUs */
    enum resource resource;
    /* capacity=, of a resource other than CPU time; in the unit of the resource */
    uint64_t capacity;
    int lowest, highest; /* POSIX priorities; 0, 0 for SCHED_DEADLINE */
    bool deadline;       /* plans SCHED_DEADLINE */
    /* the strength of the plugin's admission test, as its greeting says: none, necessary,
     * sufficient, exact */
    char tests[16];
    bool proves; /* `tests` is sufficient or exact */
    /* the tasks of the plugin count in the ledger, because the plugin has a test or the line has
     * threshold= */
    bool promises;
    bool judges; /* the plugin can judge whether its tasks tolerate a task of another plugin */
    /* each task that the plugin grants states a runtime and has passed the plugin's test */
    bool tested;
    bool greeted;
    cpu_set_t cpus;
    enum partition partition;
    /* each thread of the plugin runs in the scheduling domain of one CPU: partition=cpuset,
     * confine=cpuset */
    bool domains;
    bool hrtick; /* hrtick=on: a timer of the kernel ends the runtimes of the plugin's threads */
    /* enforce=runtime: rtf-guard keeps the plugin's threads to their runtimes (guard.h) */
    bool enforced;
    /* enforce=process: the runtimes of threads and of whole processes are enforced */
    bool whole;
    char where[WHERE_BYTES]; /* the interface of resource=network, or the disk of resource=disk */
    uint64_t rate;           /* rate=: the rate of the link, bits a second */
    struct disk_rates rates; /* throughput=: the throughput of the disk */
    /* enforce=htb, cgroup or ioprio: a helper has the kernel keep the promises (shares.h) */
    bool kept;
    bool raises; /* enforce=ioprio: the helper raises the I/O priority of the plugin's threads */
    /* desired=kept: a grant beyond the need stays with the reservation (desired-amounts.h) */
    bool keeps_desired;
    uint64_t threshold; /* the most that the ledger grants of each CPU, in billionths */
    int64_t timeout;    /* the time within which the plugin has to answer, ns */
    char *words;        /* the words that the plugin gets as arguments, separated by blanks */
    char *text;         /* the whole line, its words separated by single blanks */
    /* why the line grants nothing, for example because its helper cannot keep promises; "": the
     * line is on */
    char off[REASON_BYTES];
};

/* Reads and checks the file. A program whose name has no slash is looked for in `directory`. False:
 * *reason is "plugins.conf:LINE: ...". */
bool plugins_load(const char *path, const char *directory, char reason[static REASON_BYTES]);

int plugins_count(void);
int plugin_index(const char *name); /* -1: no line has this name */

/* plugin_weight: how much of the line's capacity the claim takes. plugin_within: the largest first
 * value (amount) with which the claim takes at most `weight`. */
uint64_t plugin_weight(int plugin, const struct claim *claim);
uint64_t plugin_within(int plugin, const struct claim *claim, uint64_t weight);

const struct plugin_line *plugin_line(int plugin);
int plugins_highest_priority(void);

/* True: a line has hrtick=on. Then the kernel's timer for runtimes is on while the broker runs. */
bool plugins_have_hrtick(void);

/* From now on the line of this plugin grants nothing, and no helper keeps its promises. */
void plugin_turn_off(int plugin, const char *reason);

/* True if a line has enforce=process. */
bool plugins_have_processes(void);

/* Sets *cpus to the CPUs that need a scheduling domain each. */
void plugins_domains(cpu_set_t *cpus);

bool plugins_share_cpu(int plugin, int other);

/* Takes the greeting of a plugin, which says how strong its test is. False: the greeting before the
 * restart was different. */
bool plugin_has_greeted(int plugin, const char *tests, bool judges, bool tested);

#endif
