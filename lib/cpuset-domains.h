/* Exclusive scheduling domains of one CPU each, made from cpuset cgroups.
 *
 * SCHED_DEADLINE wants an affinity as wide as the scheduling domain, so a thread that is to stay on one CPU needs a
 * domain of that one CPU. The cgroup rtf-N below the mount is the domain of CPU N.
 *
 * Version 1 also needs cpuset.sched_load_balance off in the root, and rtf-rest, a domain of all other CPUs, so that
 * ordinary threads go on being balanced there. Version 2 keeps a domain by cpuset.cpus.partition=root.
 *
 * The record DOMAINS_RECORD tells what was made by whom, and how the root was before. It is written before the step
 * that it tells of. What does not stand in it is neither entered nor removed. Whoever makes or removes domains holds its directory. */
#ifndef RTF_CPUSET_DOMAINS_H
#define RTF_CPUSET_DOMAINS_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#include "cgroup.h"
#include "run-directory.h"

#define DOMAINS_RECORD RUN_DIRECTORY "/domains"

enum { DOMAINS_REASON = 400, DOMAIN_NAME = 24, DOMAINS_BY = 256 };

/* Who made the domain of a CPU. */
struct maker {
    int cpu;
    char by[DOMAINS_BY];
};

struct domains {
    enum cgroups cgroups;
    int root;                    /* descriptor of the mount */
    bool was_balanced;           /* version 1: the root's sched_load_balance before */
    bool had_controller;         /* version 2: cpuset was in the root's subtree_control before */
    cpu_set_t made;
    struct maker *makers;        /* of each that is made */
    int maker_count;
};

/* What is there. False: *reason. */
bool domains_read(struct domains *domains, char reason[static DOMAINS_REASON]);
void domains_free(struct domains *domains);

/* Makes what is missing of a domain for each of `cpus`, on behalf of `by` (printable ASCII). What somebody else has made
 * is used as it is. False: *reason, and nothing has changed. */
bool domains_make(const cpu_set_t *cpus, const char *by, char reason[static DOMAINS_REASON]);

/* Removes those that `by` has made; all, if it is NULL. False: *reason; a domain with real-time threads stays. */
bool domains_drop(const char *by, char reason[static DOMAINS_REASON]);

/* CPU, number of threads and maker of each, one a line. */
bool domains_show(FILE *output, char reason[static DOMAINS_REASON]);

/* Whether a thread in the group at `path`, other than `except`, is real-time. */
bool group_has_real_time(const struct domains *domains, const char *path, pid_t except);

/* For those that are found in a leaf later; with version 2 only. */
bool note_group(int root, const char *leaf, const char *group);

/* "rtf-3" */
const char *domain_name(char name[static DOMAIN_NAME], int cpu);

#endif
