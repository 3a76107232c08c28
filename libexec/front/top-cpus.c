#include "top-cpus.h"

#include <stdio.h>

static struct cpu cpus[CPUS_SHOWN];

static void take(struct cpu *cpu, const unsigned long long ticks[8])
{
    unsigned long long all = 0, idle = ticks[3] + ticks[4];
    for (int i = 0; i < 8; i++)
        all += ticks[i];
    const unsigned long long passed = all - cpu->all, busy = all - idle;
    cpu->thousandths = cpu->all == 0 || passed == 0 || busy < cpu->busy
                           ? cpu->thousandths
                           : (int)((busy - cpu->busy) * 1000 / passed);
    cpu->all = all;
    cpu->busy = busy;
}

int cpus_look(const struct cpu **all)
{
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/stat", "re");
    *all = cpus;
    while (file != NULL && count < CPUS_SHOWN && fgets(line, sizeof line, file) != NULL) {
        unsigned long long ticks[8] = {0};
        int number;
        if (line[3] < '0' || line[3] > '9') /* the sum of all CPUs, or a line of another kind */
            continue;
        if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &number, &ticks[0],
                   &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) < 5)
            continue;
        cpus[count].number = number;
        take(&cpus[count++], ticks);
    }
    if (file != NULL)
        fclose(file);
    return count;
}
