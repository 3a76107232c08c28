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

/* With PREEMPT_RT, threads of SCHED_FIFO 1 do on each CPU what interrupts do elsewhere: timers, and the end of RCU's grace
 * periods. Where they cannot run, inotify, cgroups and the end of processes wait for ever, and soon most of the machine does
 * (seen with 6.1). */
static const char *const servants[] = {"ktimers/", "rcuc/", "irq_work/"};

static bool is_servant(const char *pid, char comm[static 32])
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "re");
    bool found = false;
    if (file == NULL)
        return false;
    if (fgets(comm, 32, file) != NULL)
        for (size_t i = 0; i < sizeof servants / sizeof *servants; i++)
            found |= strncmp(comm, servants[i], strlen(servants[i])) == 0;
    fclose(file);
    comm[strcspn(comm, "\n")] = '\0';
    return found;
}

static void warn_of_servants(void)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    struct sched_param param;
    char comm[32];
    bool warned = false;
    while (processes != NULL && !warned && (entry = readdir(processes)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_servant(entry->d_name, comm) || sched_getscheduler(atoi(entry->d_name)) != SCHED_FIFO ||
            sched_getparam(atoi(entry->d_name), &param) != 0)
            continue;
        warned = param.sched_priority <= plugins_highest_priority();
        if (warned)
            event_broker("warning", "the kernel's thread %s has priority %d: a thread of that priority or above that spins stops the machine; "
                                    "raise ktimers, rcuc and irq_work above %d", comm, param.sched_priority, plugins_highest_priority());
    }
    if (processes != NULL)
        closedir(processes);
}

void warn_of_machine(void)
{
    warn_of_no_room();
    warn_of_servants();
}
