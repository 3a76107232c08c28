/* Makes and removes exclusive scheduling domains of one CPU each, with cpuset cgroups.
 *
 * The kernel refuses SCHED_DEADLINE to a thread whose affinity is narrower than its scheduling
 * domain. So a thread that has to stay on one CPU needs a domain of that CPU alone. The cgroup
 * rtf-N below the mount is the domain of CPU N.
 *
 * Version 1 also needs cpuset.sched_load_balance = 0 in the root, and the cgroup rtf-rest, a domain
 * of all other CPUs, on which the kernel goes on balancing ordinary threads. Version 2 makes a
 * domain with cpuset.cpus.partition = root.
 *
 * The record DOMAINS_RECORD lists the domains, the maker of each domain, and the root's former
 * settings. Each step is recorded before it is taken, so that a crash leaves no domain without a
 * record. rtf does not enter or remove a domain that is not in the record. A program calls
 * run_directory_hold (run-directory.h) before it makes or removes domains. */
#ifndef RTF_CPUSET_DOMAINS_H
#define RTF_CPUSET_DOMAINS_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#include "cgroup.h"
#include "run-directory.h"

#define DOMAINS_RECORD RUN_DIRECTORY "/domains"

enum { DOMAINS_REASON = 400, DOMAIN_NAME = 24, DOMAINS_BY = 256 };

/* The maker of the domain of a CPU: the path of a spool, or a name. */
struct maker {
    int cpu;
    char by[DOMAINS_BY];
};

struct domains {
    enum cgroups cgroups;
    int root;          /* owned by this struct: a descriptor of the mount */
    bool was_balanced; /* version 1: the root's former sched_load_balance */
    /* version 2: before rtf's first domain, the root's subtree_control had cpuset */
    bool had_controller;
    cpu_set_t made;
    struct maker *makers; /* owned by this struct: one for each CPU in `made` */
    int maker_count;
};

/* Reads the record, the mount and the root's settings. False: *reason, and nothing is to be
 * freed. */
bool domains_read(struct domains *domains, char reason[static DOMAINS_REASON]);
void domains_free(struct domains *domains);

/* Makes a domain for each CPU of `cpus` that has none, and records `by` (printable ASCII) as its
 * maker. If another maker has made a domain of such a CPU, the domain stays as it is. False:
 * *reason, and nothing has changed. */
bool domains_make(const cpu_set_t *cpus, const char *by, char reason[static DOMAINS_REASON]);

/* Removes the domains that `by` has made; by = NULL: all domains. A domain with real-time threads
 * stays. False: *reason says what has failed. */
bool domains_drop(const char *by, char reason[static DOMAINS_REASON]);

/* Prints a line for each domain: CPU, number of threads, maker. */
bool domains_show(FILE *output, char reason[static DOMAINS_REASON]);

/* True if a thread in the group at `path` is real-time. The thread `except` does not count. */
bool domains_group_has_real_time(const struct domains *domains, const char *path, pid_t except);

/* Writes into the leaf (cpuset-leaf.h) the group that the leaf's members came from, so that
 * domains_drop can return the members to that group. Only version 2 needs this. False: errno says
 * why. */
bool domains_note_group(int root, const char *leaf, const char *group);

/* Writes the name of the domain of a CPU: "rtf-3" for CPU 3. Returns `name`. */
const char *domain_name(char name[static DOMAIN_NAME], int cpu);

#endif
