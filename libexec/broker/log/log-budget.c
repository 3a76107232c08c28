#include "log-budget.h"

#include "account.h"

/* Returns the account whose log budget pays for the line; NULL: the line has no budget. */
static struct account *charged_account(const struct user *user)
{
    struct account *account = user == NULL || user->uid == 0 ? NULL : user->account;
    return account != NULL && account->log_of != NULL ? account->log_of : account;
}

enum log_room log_budget_look(const struct user *user, uint64_t *left_out)
{
    struct account *account = charged_account(user);
    if (account == NULL)
        return LOG_HAS_ROOM;
    const int64_t now = monotonic_now();
    if (now - account->log_window >= LOG_WINDOW || account->log_window == 0) {
        *left_out += account->log_left_out;
        account->log_window = now;
        account->log_bytes = account->log_left_out = 0;
    }
    if (account->log_bytes < LOG_BYTES)
        return LOG_HAS_ROOM;
    return account->log_left_out++ > 0 ? LOG_LEFT_OUT : LOG_SPENT;
}

void log_budget_charge(const struct user *user, size_t bytes)
{
    struct account *account = charged_account(user);
    if (account != NULL)
        account->log_bytes += bytes;
}
