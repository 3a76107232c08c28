/* steps - counts the steps of the exact tests. Reads task sets, one a line, as TEST BLOCKING
 * RUNTIME PERIOD DEADLINE [...]. TEST is demand or rta (with the tasks in the order of their
 * priorities). Prints the outcome and the number of steps for each set. A test takes at most as
 * many steps as a plugin allows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "demand.h"
#include "exact.h"
#include "response_time.h"

static const char *const names[] = {
    [FITS] = "fits", [TOO_MUCH] = "too-much", [TOO_COMPLEX] = "too-complex"};

int main(void)
{
    char test[8];
    uint64_t blocking;
    while (scanf("%7s %" SCNu64, test, &blocking) == 2) {
        struct task_set set = {0};
        struct timing timing = {0};
        while (set.count < SET_TASKS &&
               scanf("%*[ ]%" SCNu64 " %" SCNu64 " %" SCNu64, &timing.runtime, &timing.period,
                     &timing.deadline) == 3)
            set_add(&set, &timing, PRIORITY_MAX - (int)set.count);
        uint64_t steps = TEST_STEPS;
        struct conditions conditions = {blocking, WHOLE_CPU};
        enum outcome outcome = strcmp(test, "rta") == 0
                                   ? response_times_fit(&set.task[1], set.count, conditions, &steps)
                                   : demand_fits(&set.task[1], set.count, conditions, &steps);
        printf("%s %" PRIu64 "\n", names[outcome], TEST_STEPS - steps);
    }
    return 0;
}
