#include "journal-rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "journal.h"
#include "place.h"
#include "reservations.h"
#include "timers.h"

bool journal_rewrite(char reason[static REASON_BYTES])
{
    if (!journal_begin(reason)) {
        journal_abandon();
        return false;
    }
    bool good = true;
    for (const struct reservation *reservation = reservation_first(); good && reservation != NULL;
         reservation = reservation_next(reservation))
        if (reservation->state != RESERVATION_OVER_LIMIT)
            good = journal_reservation(reservation);
    if (!good)
        snprintf(reason, REASON_BYTES, "%s/%s: %s", place_path(), place_journal, strerror(errno));
    if (good && journal_commit(reason))
        return true;
    journal_abandon();
    return false;
}

static const int64_t journal_pause = INT64_C(1000000000); /* ns */

static void try_again(struct timer *timer)
{
    char reason[REASON_BYTES];
    if (journal_rewrite(reason))
        event_broker("ok", "state/current/journal can be written again");
    else if (journal_is_behind())
        timer_set(timer, monotonic_now() + journal_pause);
}

void journal_rewrite_if_due(void)
{
    static struct timer retry = {.due = try_again};
    char reason[REASON_BYTES];
    if (retry.at != 0 || (!journal_is_behind() && !journal_is_bloated()) || journal_rewrite(reason))
        return;
    event_broker("error", "%s", reason); /* the retries add no line to the log */
    if (journal_is_behind())
        timer_set(&retry, monotonic_now() + journal_pause);
}
