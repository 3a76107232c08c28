#include "tick.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { US_OF_NO_CLOCK = 10000, NS_PER_US = 1000, WORD_BYTES = 64 };

uint64_t tick_length(void)
{
    struct timespec step;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 ? (uint64_t)step.tv_nsec / NS_PER_US
                                                            : US_OF_NO_CLOCK;
}

bool tick_is_not_awaited(void)
{
    char word[WORD_BYTES];
    bool is_on = false;
    FILE *features = fopen("/sys/kernel/debug/sched/features", "re");
    if (features == NULL)
        return false;
    while (!is_on && fscanf(features, "%63s", word) == 1)
        is_on = strcmp(word, "HRTICK_DL") == 0; /* off is NO_HRTICK_DL */
    fclose(features);
    return is_on;
}
