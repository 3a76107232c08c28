#include "recover.h"

#include <stdlib.h>

#include "allocators.h"
#include "journal.h"
#include "journal-rewrite.h"
#include "kernel-setup.h"
#include "memory.h"
#include "orphans.h"
#include "take-up.h"
#include "tasks.h"

void recover_know_raised(const struct recorded_state *state)
{
    for (int i = 0; state->same_boot && i < state->count; i++)
        if (state->reservations[i].attached && state->reservations[i].former_ioprio >= 0)
            allocators_know_raised(state->reservations[i].tid, state->reservations[i].started_by,
                                   state->reservations[i].former_ioprio);
}

bool recover(struct recorded_state *state, char reason[static REASON_BYTES])
{
    bool *apply = allocate((size_t)state->count + 1);
    for (int i = 0; i < state->count; i++)
        tasks_from(state->reservations[i].task);
    for (int i = 0; i < state->count; i++)
        apply[i] = take_up(&state->reservations[i], state->same_boot);
    orphans_follow(state);
    bool good =
        kernel_setup_limits(reason) && journal_rewrite(reason) && kernel_setup_domains(reason);
    for (int i = 0; good && i < state->count; i++)
        take_up_go_on(&state->reservations[i], apply[i]);
    if (good)
        allocators_settle();
    else {
        char ignored[REASON_BYTES];
        kernel_setup_restore_or_tell();
        (void)kernel_setup_drop_domains(ignored);
    }
    free(apply);
    return good;
}
