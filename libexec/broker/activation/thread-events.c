#include "thread-events.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "account.h"
#include "adjustments.h"
#include "attachments.h"
#include "drift.h"
#include "event.h"
#include "execve.h"
#include "given-extras.h"
#include "resource-cpu.h"
#include "guard.h"
#include "plugins.h"
#include "readers.h"
#include "request.h"
#include "debts.h"
#include "verdict.h"
#include "reservations.h"

static const struct thread_events *tell;

static void ended(struct source *source, uint32_t events);
static void watched(struct source *source, uint32_t events);
static void to_watch(struct timer *timer);
static void doubt(struct timer *timer);

void thread_events_prepare(const struct thread_events *events)
{
    static const struct attachment_calls calls = {.ended = ended,
                                                  .watched = watched,
                                                  .to_watch = to_watch,
                                                  .doubt = doubt};
    tell = events;
    attachments_prepare(&calls);
}

/* ---- orders to the helper without a request ---- */

void thread_events_check(void)
{
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        if (reservation->attachment != NULL && reservation->request == NULL &&
            has_drifted(reservation))
            adjustments_expect(reservation,
                               attach_apply_again(reservation->attachment, reservation->grant),
                               NULL);
}

void thread_events_guard(void)
{
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        if (reservation->attachment != NULL) {
            reservation->attachment->guarded = false;
            adjustments_guard_again(reservation);
        }
}

/* Logs a warning of the guard about the attached thread. The log takes few such warnings, because a
 * user can cause as many as they like. If the log omits a line, the suspensions that the line
 * counts are added to the thread's next line. */
static void warn(const struct reservation *reservation, const char *reason)
{
    struct attachment *attachment = reservation->attachment;
    struct event event = {.stage = "attach",
                          .user = reservation->user,
                          .name = reservation->name,
                          .decision = "warning",
                          .reason = reason,
                          .plugin = plugin_line(reservation->grant->plugin)->name,
                          .tid = attachment->tid,
                          .microseconds = -1,
                          .times = attachment->untold};
    if (event_write_rarely(&event, &reservation->user->account->rare_window,
                           &reservation->user->account->rare_count))
        attachment->untold = 0;
}

/* The thread of the reservation waited for a lock, and lent its runtime to the thread that has the
 * lock. The owner gets a verdict, too, because the owner may not know that the two threads share a
 * lock. */
static void tell_lent(struct reservation *reservation, uint64_t times)
{
    char reason[256];
    snprintf(
        reason, sizeof reason,
        "while thread %d waited for a lock, the holder of the lock used up the whole runtime of %lluus: thread %d was ordinary until its next period (period or deadline: %lluus) "
        "(%llu times since the last warning)",
        (int)reservation->attachment->tid,
        (unsigned long long)cpu_in_mode(reservation->grant).runtime,
        (int)reservation->attachment->tid, (unsigned long long)cpu_window(reservation->grant),
        (unsigned long long)times);
    warn(reservation, reason);
    if (reservation->request == NULL)
        verdict_again(reservation, UPDATE, reason);
}

static void tell_suspended(const struct reservation *reservation, uint64_t times)
{
    char reason[160];
    snprintf(
        reason, sizeof reason,
        "thread %d used up its %lluus of runtime before its period of %lluus was over, and was ordinary until then (%llu times since the last warning)",
        (int)reservation->attachment->tid,
        (unsigned long long)cpu_in_mode(reservation->grant).runtime,
        (unsigned long long)cpu_window(reservation->grant), (unsigned long long)times);
    warn(reservation, reason);
}

/* Another thread has waited for a lock of this thread, so the guard ends the reclaiming of the thread.
 * If the kernel refuses, the guard makes the thread ordinary for a period. */
static void tell_reclaims_no_more(const struct reservation *reservation)
{
    char reason[160];
    reservation->attachment->has_lent = true;
    snprintf(
        reason, sizeof reason,
        "another thread has waited for a lock of thread %d, so thread %d has no more than its runtime from now on (reclaim)",
        (int)reservation->attachment->tid, (int)reservation->attachment->tid);
    warn(reservation, reason);
}

void thread_events_guarded(const struct guard_event *event)
{
    struct attachment *attachment = attachment_find(event->tid);
    if (attachment == NULL || attachment->started_by != event->started_by ||
        attachment->reservation->grant == NULL || !attachment->guarded)
        return;
    if (event->news == GUARD_SUSPENDED) {
        attachment->untold += event->times;
        tell_suspended(attachment->reservation, event->times);
    } else if (event->news == GUARD_LENT) {
        attachment->untold += event->times;
        attachment->has_lent = true;
        tell_lent(attachment->reservation, event->times);
    } else if (event->news == GUARD_LOST)
        adjustments_guard_again(attachment->reservation);
    else if (event->news == GUARD_HOLDS) {
        if (attachment->reservation->grant->spec.reclaim)
            tell_reclaims_no_more(attachment->reservation);
        adjustments_count(attachment->reservation);
    } else if (attachment->state == ATTACHMENT_IN_FORCE &&
               !request_is_detaching(attachment->reservation)) {
        attachment->only_awake = true;
        attachment->state = ATTACHMENT_ASTRAY;
        reservation_queue(attachment->reservation);
    }
}

/* True: before the watch began, the thread has ended, or another thread's execve(2) has taken over
 * its id. The other thread is not real-time and has no reset-on-fork. The attached thread may not
 * be real-time either, if its owner has made it ordinary. But the attached thread always has
 * reset-on-fork, because an owner cannot clear this flag (sched(7)). */
static bool is_watched_too_late(const struct reservation *reservation)
{
    struct identity identity;
    struct attributes now;
    const struct attachment *attachment = reservation->attachment;
    return attachment_is_over(attachment) ||
           (thread_look(attachment->tid, &identity) && identity.ended) ||
           (attachment->scheduled && attachment->tid == attachment->process &&
            !attachment_is_pending(attachment) && reservation->request == NULL &&
            thread_attributes(attachment->tid, &now) && !policy_is_real_time(now.policy) &&
            !now.reset_on_fork);
}

/* The thread may have got its leader's id by execve(2) before the attach helper changed the thread.
 * If the broker looked at the thread under the leader's id before the helper's call, the broker saw
 * no change. So the broker looks again now. */
static void let_go_meanwhile(const struct adjustment *adjusting,
                             const struct reservation *reservation)
{
    const struct attachment ended = {.tid = adjusting->tid,
                                     .process = adjusting->process,
                                     .started_by = adjusting->started_by,
                                     .former = adjusting->former,
                                     .pidfd = -1,
                                     .watch = -1};
    if (adjusting->tid != adjusting->process && attachment_is_over(&ended))
        execve_late(reservation == NULL ? NULL : reservation->user,
                    reservation == NULL ? NULL : reservation->name, &ended);
}

static void tell_unchanged(const struct helper_event *event)
{
    if (event->answer == HELPER_NO || event->answer == HELPER_BUSY)
        event_broker(
            "error",
            "a plugin has moved the reservation, but the thread could not be changed: %.400s",
            event->reason);
}

void thread_events_adjusted(const struct helper_event *event)
{
    struct adjustment *adjusting = adjustments_take(event->id);
    if (adjusting == NULL) {
        extras_answered(event);
        (void)execve_answered(event);
        /* this answer has no watch to close: it belongs to an order for extras, or to an order to
         * make a thread ordinary */
        return;
    }
    if (adjusting->count && event->watch < 0) {
        /* There is no event. The guard then looks at the thread again and again, and asking once more
         * would not help. */
        free(adjusting);
        return;
    }
    struct reservation *reservation = reservation_of_task(adjusting->task);
    struct attachment *attachment = reservation == NULL ? NULL : reservation->attachment;
    if (attachment != NULL &&
        (attachment->tid != adjusting->tid || attachment->started_by != adjusting->started_by))
        attachment = NULL; /* the answer is about a thread that was detached meanwhile */
    if (attachment == NULL && !adjusting->watch)
        let_go_meanwhile(adjusting, reservation);
    if (attachment != NULL && !adjusting->watch && reservation->grant != NULL &&
        !attachment_is_pending(attachment) && !request_is_detaching(reservation) &&
        event->answer == HELPER_OK)
        guard_begin(attachment, reservation->grant, event->watch, true);
    else if (event->watch >= 0 && attachment != NULL && !attachment_is_pending(attachment))
        (void)attachment_keep_watch(attachment, event->watch, false);
    else if (event->watch >= 0)
        close(event->watch);
    if (adjusting->watch && attachment != NULL && is_watched_too_late(reservation)) {
        reservation->pending_changes |= THREAD_CHANGED;
        reservation_queue(reservation);
    }
    tell_unchanged(event);
    if (event->answer != HELPER_OK && event->answer != HELPER_GONE && attachment != NULL &&
        reservation->grant != NULL) {
        /* a request corrects the thread, or tells the owner why the thread cannot be corrected */
        attachment->state =
            attachment_is_pending(attachment) ? ATTACHMENT_AWAKE : ATTACHMENT_ASTRAY;
        reservation_queue(reservation);
    } else if (reservation != NULL && adjusting->told != NULL && reservation->request == NULL)
        verdict_again(reservation, UPDATE, adjusting->told);
    free(adjusting);
}

/* ---- events of threads ---- */

enum { LOOKS = 3 };
static const int64_t look_after[LOOKS] = {INT64_C(10000000), INT64_C(100000000),
                                          INT64_C(1000000000)};

enum fate { GOES_ON, ENDED, REPLACED };

static bool has_runtime_of_process(const struct attachment *attachment)
{
    const struct grant *grant = attachment->reservation->grant;
    return grant != NULL && grant->spec.budget_process;
}

/* The watch hung up, or began too late, and a thread has the attached thread's id. This thread may
 * be the attached thread itself: the kernel ends the watch of a process that executes a program
 * that its user cannot read. A grant sets reset-on-fork, which an owner cannot clear, so this flag
 * shows the attached thread, unless all threads of the process have the flag ("budget": "process").
 * The broker then checks again whether the thread may have the grant, because the thread may run a
 * set-user-ID program, and belong to root now. */
static enum fate fate_of_leader(struct attachment *attachment, bool was_over)
{
    char reason[120];
    struct attributes now;
    const pid_t tid = attachment->tid;
    if (!attachment->scheduled)
        return was_over ? REPLACED : GOES_ON;
    if (was_over || has_runtime_of_process(attachment) || !thread_attributes(tid, &now) ||
        !now.reset_on_fork || attachment_over_in(tid) != NULL)
        return REPLACED;
    snprintf(
        reason, sizeof reason,
        "thread %d called execve and runs a program that its user cannot read: it is attached anew",
        (int)tid);
    tell->recover(attachment->reservation, UPDATE, reason);
    return GOES_ON;
}

/* The attached thread seems to have ended, but another thread may get its id: when another thread
 * calls execve(2), the kernel ends the first thread of the process, and then gives its id to the
 * calling thread. Between these two moments, the id belongs to a zombie beside living threads. The
 * same is true if the first thread has just ended, so the broker looks LOOKS times. */
static enum fate fate_of(struct attachment *attachment)
{
    struct identity identity;
    const pid_t tid = attachment->tid;
    const bool was_over = attachment->looks > 0;
    if (!thread_look(tid, &identity) || identity.start > attachment->started_by)
        return ENDED;
    /* by execve(2) a thread can get only the id of the first thread of its process. So the attached
     * thread still has its id, and the watch that hung up belonged to an earlier thread */
    if (tid != attachment->process)
        return identity.ended ? ENDED : GOES_ON;
    if (attachment_find(tid) != attachment || thread_has_ended(attachment->pidfd))
        /* the thread is not in the table, because it had ended before the broker started: no thread
         * has its id */
        return ENDED;
    if (identity.ended) {
        if (attachment->looks == LOOKS)
            return ENDED;
        timer_set(&attachment->doubt, monotonic_now() + look_after[attachment->looks++]);
        return GOES_ON;
    }
    return fate_of_leader(attachment, was_over);
}

/* If a thread still runs with the attributes of the grant, gives the thread its former attributes
 * back. `reason` says what has become of the attached thread. */
static void thread_events_let_go(const struct reservation *reservation, enum fate fate,
                                 char *reason, size_t size)
{
    const struct attachment *attachment = reservation->attachment;
    if (fate == REPLACED && attachment->scheduled) {
        execve_replaced(reservation, is_adjusted(attachment));
        snprintf(
            reason, size,
            "another thread of process %d called execve and has taken over the id of the attached thread: the process is ordinary, and not attached",
            (int)attachment->tid);
    } else if (execve_exec(reservation))
        snprintf(
            reason, size,
            "thread %d called execve and has taken over the id of its process, %d: the process is ordinary again, and not attached",
            (int)attachment->tid, (int)attachment->process);
    else
        snprintf(reason, size, "thread %d has ended", (int)attachment->tid);
}

void thread_events_look(struct reservation *reservation)
{
    char reason[160];
    struct attachment *attachment = reservation->attachment;
    bool ends = reservation->grant != NULL && reservation->grant->spec.lifetime_thread;
    reservation->pending_changes &= ~THREAD_CHANGED;
    const enum fate fate = attachment == NULL ? GOES_ON : fate_of(attachment);
    if (fate == GOES_ON)
        return;
    thread_events_let_go(reservation, fate, reason, sizeof reason);
    if (attachment->by_file) {
        reservation->leaving_tid = reservation->judged_tid;
        reader_remove(reservation->user, reservation->name, "tid", &reservation->judged_tid);
    }
    debt_begin(reservation, reservation->grant);
    debt_of_thread(reservation);
    attachment_end(reservation);
    reservation->judged_tid = (struct stamp){0};
    if (ends && reservation->state != RESERVATION_WITHDRAWN) {
        reservation_end(reservation, ENDED_THREAD);
        reader_remove(reservation->user, reservation->name, "json", &reservation->judged);
        return; /* the reader removes the spec, and then the reservation is released */
    }
    (void)reservation_record(reservation);
    verdict_again(reservation, EXIT, reason);
}

/* The thread's pidfd is ready: the thread has ended. */
static void ended(struct source *source, uint32_t events)
{
    const struct attachment *attachment = container_of(source, struct attachment, source);
    (void)events;
    struct reservation *reservation = attachment->reservation;
    if (attachment->pidfd >= 0)
        loop_remove(attachment->pidfd);
    if (reservation == NULL)
        return;
    reservation->pending_changes |= THREAD_CHANGED;
    if (reservation->request == NULL)
        tell->examine(reservation);
}

/* The watch is ready. The attached thread has ended, even if another thread has its id now; or the
 * thread has woken, or has called execve(2). */
static void watched(struct source *source, uint32_t events)
{
    struct attachment *attachment = container_of(source, struct attachment, watch_source);
    struct reservation *reservation = attachment->reservation;
    if (reservation == NULL)
        return;
    attachment_watch_told(attachment);
    if ((events & EPOLLHUP) != 0) {
        attachment_drop_watch(attachment);
        reservation->pending_changes |= THREAD_CHANGED;
    } else if (attachment_is_pending(attachment))
        attachment->state = ATTACHMENT_AWAKE;
    /* the thread has called execve, and has the leader's id now */
    else if (attachment->tid != attachment->process)
        reservation->pending_changes |= THREAD_CHANGED;
    if (((reservation->pending_changes & THREAD_CHANGED) != 0 ||
         attachment_is_to_be_applied(attachment)) &&
        reservation->request == NULL)
        tell->examine(reservation);
}

static void to_watch(struct timer *timer)
{
    const struct attachment *attachment = container_of(timer, struct attachment, to_watch);
    if (!attachment_is_pending(attachment))
        adjustments_watch(attachment->reservation);
}

static void doubt(struct timer *timer)
{
    struct reservation *reservation = container_of(timer, struct attachment, doubt)->reservation;
    reservation->pending_changes |= THREAD_CHANGED;
    reservation_queue(reservation);
}
