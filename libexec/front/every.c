#include "every.h"

#include <time.h>

#define ANSWER_WITHIN UINT64_C(30000000) /* us, as in rtf-run */

struct every every = {.options = {.timeout = ANSWER_WITHIN, .needs = {.in_microseconds = true}},
                      .signals = -1};

int64_t every_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

bool every_may_go_on(void)
{
    return every.ended_by == 0 &&
           (every.options.count == 0 || every.tally.activations < every.options.count) &&
           (every.options.until == 0 || every_now() < every.options.until);
}
