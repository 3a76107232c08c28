#include "trial-cost.h"

#include "account.h"

bool trial_is_affordable(struct account *account, size_t grants, int64_t now)
{
    /* ns. Each grant costs the account `each`, ten times the time that a trial takes for a grant:
     * so the trials of an account take at most a tenth of the time. An account may be `most`
     * behind. */
    const int64_t most = 1000000000, each = 1000000;
    if (account->trials_until > now + most)
        return false;
    account->trials_until =
        (account->trials_until > now ? account->trials_until : now) + each * (int64_t)(grants + 1);
    return true;
}
