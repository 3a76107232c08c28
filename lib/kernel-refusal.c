#include "kernel-refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

/* True if the thread is in a cgroup of the cpu controller below the root. With RT_GROUP_SCHED such
 * a cgroup starts without real-time runtime, and then sched_setattr(2) fails with EPERM even for
 * root. */
static bool find_cpu_cgroup(pid_t tid, char group[static 256])
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)tid);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *name = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (name == NULL)
            continue;
        *name++ = '\0';
        found =
            (strcmp(controllers + 1, "cpu") == 0 || strcmp(controllers + 1, "cpu,cpuacct") == 0) &&
            strcmp(name, "/") != 0;
        if (found)
            snprintf(group, 256, "%.255s", name);
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* Describes the kernel's account of SCHED_DEADLINE bandwidth for the scheduling domain of one of
 * these CPUs: the allowed and the taken bandwidth. The kernel counts in 2^-20 of a CPU. False:
 * debugfs is not mounted. */
static bool kernel_totals(const cpu_set_t *cpus, char text[static 96])
{
    char line[256];
    unsigned long long allowed = 0;
    long long taken = 0;
    int cpu = -1;
    bool found = false;
    FILE *file = fopen("/sys/kernel/debug/sched/debug", "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "dl_rq[%d]", &cpu);
        if (cpu < 0 || !CPU_ISSET((size_t)cpu, cpus))
            continue;
        (void)sscanf(line, " .dl_bw->bw : %llu", &allowed);
        found = sscanf(line, " .dl_bw->total_bw : %lld", &taken) == 1;
    }
    if (file != NULL)
        fclose(file);
    /* The taken bandwidth is below zero if domains were rebuilt while the kernel still counted
     * ended threads: then the kernel subtracted their bandwidth from the wrong domain
     * (wait_for_kernel in lay-down.c). */
    if (found && taken < 0)
        snprintf(
            text, 96,
            "its sum is below zero: it admits no thread until sched_rt_runtime_us is written again");
    else if (found)
        snprintf(text, 96, "%lld.%03lld taken, %llu.%03llu allowed for each CPU of the domain",
                 taken >> 20, (taken & 0xfffff) * 1000 >> 20, allowed >> 20,
                 (allowed & 0xfffff) * 1000 >> 20);
    return found;
}

/* Writes the limit that the administrator has set for all real-time threads. The message has this
 * limit if kernel_totals fails. */
static void kernel_limit(char text[static 96])
{
    long runtime = 0, period = 1;
    FILE *file = fopen("/proc/sys/kernel/sched_rt_runtime_us", "re");
    if (file != NULL) {
        (void)!fscanf(file, "%ld", &runtime);
        fclose(file);
    }
    file = fopen("/proc/sys/kernel/sched_rt_period_us", "re");
    if (file != NULL) {
        (void)!fscanf(file, "%ld", &period);
        fclose(file);
    }
    snprintf(text, 96, "%ldus in %ldus are allowed on each CPU, fair servers included", runtime,
             period);
}

enum apply_result kernel_refusal(int error, pid_t tid, const struct attributes *wanted,
                                 char reason[static APPLY_REASON])
{
    char group[256], cpus[CPU_LIST_TEXT], share[UTILIZATION_TEXT], totals[96];
    if (error == ESRCH)
        return APPLY_GONE;
    if (error == EBUSY && wanted->policy == POLICY_DEADLINE) {
        if (!kernel_totals(&wanted->cpus, totals))
            kernel_limit(totals);
        (void)apply_refuse(
            reason,
            "the kernel's own admission test refuses %s of a CPU (%s): tasks outside rtf, or tasks that "
            "ended less than a period ago, have the rest",
            format_utilization(utilization(wanted->runtime, wanted->period), share), totals);
        return APPLY_BUSY;
    }
    if (error == EPERM && geteuid() == 0 && wanted->policy == POLICY_DEADLINE)
        return apply_refuse(
            reason,
            "the kernel wants a SCHED_DEADLINE thread to be allowed on its whole scheduling domain, and the "
            "CPUs %.200s are only a part of this domain",
            format_cpus(&wanted->cpus, cpus));
    if (error == EPERM && find_cpu_cgroup(tid, group))
        return apply_refuse(
            reason,
            "thread %d is in the cpu cgroup %.200s, which has no real-time runtime (cpu.rt_runtime_us)",
            (int)tid, group);
    if (error == EINVAL)
        return apply_refuse(
            reason,
            "the kernel refuses %s with priority %d, runtime %lluus, deadline %lluus, period %lluus",
            policy_name(wanted->policy), wanted->priority, (unsigned long long)wanted->runtime,
            (unsigned long long)wanted->deadline, (unsigned long long)wanted->period);
    return apply_refuse(reason, "the kernel refuses new scheduling attributes for thread %d: %s",
                        (int)tid, strerror(error));
}
