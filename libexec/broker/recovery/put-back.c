#include "put-back.h"

#include "journal.h"
#include "kernel-setup.h"
#include "recover.h"

bool put_back_settings(char reason[static REASON_BYTES])
{
    return kernel_setup_restore(reason);
}

bool put_back_kernel(allocators_path *path, char reason[static REASON_BYTES])
{
    struct recorded_state state;
    if (!journal_read(&state, reason))
        return false;
    bool good = true;
    recover_know_raised(&state);
    if (!state.left_in_force) {
        good = kernel_setup_restore(reason);
        good = kernel_setup_drop_domains(reason) && allocators_put_back(path, reason) && good;
    }
    journal_free(&state);
    return good;
}
