#include "lay-down.h"

#include <time.h>

#include "allocators.h"
#include "attach.h"
#include "attachments.h"
#include "clock.h"
#include "debts.h"
#include "event.h"
#include "execve.h"
#include "given-extras.h"
#include "journal.h"
#include "journal-rewrite.h"
#include "kernel-setup.h"
#include "reservations.h"
#include "shares.h"

static bool restore_all(void)
{
    struct helper_event last;
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation)) {
        if (reservation->attachment == NULL)
            continue;
        (void)extras_take_back(reservation->attachment);
        if (!reservation->attachment->scheduled) {
            shares_unbind(reservation->attachment);
            continue;
        }
        if (attachment_is_over(reservation->attachment)) {
            debt_begin(reservation, reservation->grant);
            debt_of_thread(reservation);
        }
        (void)attach_restore(reservation->attachment);
        reservation->attachment->state = ATTACHMENT_LAID_DOWN;
    }
    bool answered = attach_drain(10, &last);
    /* By now each thread is ordinary, or its id belongs to no thread. */
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        if (reservation->attachment != NULL &&
            reservation->attachment->tid != reservation->attachment->process &&
            attachment_is_over(reservation->attachment))
            execve_to_the_end(reservation->user, reservation->name, reservation->attachment);
    return attach_drain(10, &last) && answered;
}

/* Waits until the kernel no longer counts the bandwidth of demoted SCHED_DEADLINE threads. The
 * kernel counts this bandwidth for some time after the demotion. If a broker makes new scheduling
 * domains in this time, the kernel subtracts the bandwidth from a domain whose sum does not have
 * it. The sum of this domain then wraps around below zero, and the kernel refuses every
 * SCHED_DEADLINE thread in the domain (measured on Linux 6.18). */
static void wait_for_kernel(int64_t owed)
{
    const int64_t most = INT64_C(5000000000), paid_back = debt_last_in_kernel() - monotonic_now(),
                  wait = paid_back < most ? paid_back : most;
    const int64_t longer = owed > wait ? owed : wait;
    const struct timespec pause = {.tv_sec = longer / 1000000000, .tv_nsec = longer % 1000000000};
    if (longer > 0)
        (void)nanosleep(&pause, NULL);
}

void lay_down(void)
{
    struct helper_event last;
    (void)attach_owed(); /* forgets the waiting time that is left from the broker's start */
    /* first takes the answers to earlier orders, because such an order could undo the next ones */
    (void)attach_drain(5, &last);
    bool answered = restore_all();
    const int64_t owed = attach_owed();
    wait_for_kernel(owed);
    if (answered && owed > 0)
        /* repeats the orders for the threads that could not leave their domains until now */
        answered = restore_all();
    if (!answered)
        event_broker("error",
                     "the attach helper did not answer: some threads may still be real-time");
    kernel_setup_restore_or_tell();
    allocators_end();
    char reason[REASON_BYTES];
    if (!kernel_setup_drop_domains(reason))
        event_broker("error", "%s", reason);
    if (reservation_first() == NULL)
        journal_clear();
    else if (!journal_rewrite(reason))
        event_broker("error", "%s", reason);
}

void leave_in_force(void)
{
    struct helper_event last;
    (void)attach_drain(5, &last);
    (void)journal_left();
}
