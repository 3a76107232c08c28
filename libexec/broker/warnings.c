#include "warnings.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "plugin-lines.h"

/* From Linux 6.12 on the kernel keeps 0.05 of each CPU for ordinary threads, before FIFO ones and thus the broker. */
enum { ROOM_FOR_BROKER = 900000000 };

static void warn_of_no_room(void)
{
    cpu_set_t filled;
    CPU_ZERO(&filled);
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        if (line->deadline && line->partition == PARTITION_UNTHROTTLED && line->threshold > ROOM_FOR_BROKER)
            CPU_OR(&filled, &filled, &line->cpus);
    }
    if (CPU_COUNT(&filled) >= sysconf(_SC_NPROCESSORS_ONLN))
        event_broker("warning", "SCHED_DEADLINE threads may fill every CPU, and may keep the broker waiting for many of their periods when they use "
                                "up their runtimes: threshold=0.9 leaves it room");
}

static bool is_rcu_thread(const char *pid)
{
    char path[300], comm[32] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool found = fgets(comm, sizeof comm, file) != NULL && strncmp(comm, "rcuc/", 5) == 0;
    fclose(file);
    return found;
}

/* With PREEMPT_RT, kernel threads of SCHED_FIFO 1 end the grace periods of RCU. Where one cannot run, inotify, cgroups, the end
 * of processes, and with them most of the machine stand still before long (seen with 6.1). */
static void warn_of_rcu(void)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    struct sched_param param;
    bool warned = false;
    while (processes != NULL && !warned && (entry = readdir(processes)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_rcu_thread(entry->d_name) || sched_getparam(atoi(entry->d_name), &param) != 0)
            continue;
        warned = param.sched_priority <= plugins_highest_priority();
        if (warned)
            event_broker("warning", "the kernel's threads rcuc have priority %d: a thread of that priority or above that spins stops the machine; boot "
                                    "with rcutree.kthread_prio=%d", param.sched_priority, plugins_highest_priority() + 1);
    }
    if (processes != NULL)
        closedir(processes);
}

void warn_of_machine(void)
{
    warn_of_no_room();
    warn_of_rcu();
}
