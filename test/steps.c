/* steps - what the exact tests cost: reads task sets, one a line, as TEST BLOCKING RUNTIME PERIOD DEADLINE [...], TEST
 * being demand or rta (the tasks in the order of their priorities); says the outcome and the steps of each, as many as
 * a plugin allows at most. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "demand.h"
#include "exact.h"
#include "response_time.h"

static const char *const names[] = {[FITS] = "fits", [TOO_MUCH] = "too-much", [TOO_COMPLEX] = "too-complex"};

int main(void)
{
    char test[8];
    uint64_t blocking;
    while (scanf("%7s %" SCNu64, test, &blocking) == 2) {
        struct task_set set = {0};
        struct timing timing;
        while (set.count < SET_TASKS &&
               scanf("%*[ ]%" SCNu64 " %" SCNu64 " %" SCNu64, &timing.runtime, &timing.period, &timing.deadline) == 3)
            set_add(&set, &timing, PRIORITY_MAX - (int)set.count);
        uint64_t steps = TEST_STEPS;
        enum outcome outcome = strcmp(test, "rta") == 0
                                   ? response_times_fit(&set.task[1], set.count, blocking, &steps)
                                   : demand_fits(&set.task[1], set.count, blocking, &steps);
        printf("%s %" PRIu64 "\n", names[outcome], TEST_STEPS - steps);
    }
    return 0;
}
