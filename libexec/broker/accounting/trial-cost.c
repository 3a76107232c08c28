#include "trial-cost.h"

#include "account.h"

bool trial_is_affordable(struct account *account, size_t grants, int64_t now)
{
    /* ns. Each grant in a trial costs the account `each`. This is ten times the time that a trial
     * takes for a grant, so the trials of an account take at most a tenth of the broker's time. An
     * account that owes more than `most` gets no trial. */
    const int64_t most = 1000000000, each = 1000000;
    if (account->trials_until > now + most)
        return false;
    account->trials_until =
        (account->trials_until > now ? account->trials_until : now) + each * (int64_t)(grants + 1);
    return true;
}
