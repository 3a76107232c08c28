#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "account.h"
#include "adjusting.h"
#include "attachments.h"
#include "drift.h"
#include "event.h"
#include "follow.h"
#include "grants.h"
#include "guard.h"
#include "plugins.h"
#include "readers.h"
#include "request.h"
#include "rest.h"
#include "verdict.h"
#include "wishes.h"

static const struct thread_events *tell;

void threads_prepare(const struct thread_events *events)
{
    tell = events;
}

/* ---- what the helper does without a request ---- */

void threads_check(void)
{
    for (struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next)
        if (wish->attachment != NULL && wish->request == NULL && has_drifted(wish))
            adjusting_expect(wish, helper_apply_again(wish->attachment, wish->grant), false);
}

void threads_guard(void)
{
    for (struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next)
        if (wish->attachment != NULL) {
            wish->attachment->guarded = false;
            adjusting_guard_again(wish);
        }
}

/* Its owner is told, too: he may not know whom he waits for. */
static void tell_lent(struct wish *wish, uint64_t times)
{
    char reason[256];
    snprintf(reason, sizeof reason, "thread %d waits for a lock and lent its rank to who holds it for all of its %lluus: it was ordinary until the next %lluus "
                                    "(%llu times since this was last told)",
             (int)wish->attachment->tid, (unsigned long long)wish->grant->plan.runtime, (unsigned long long)grant_window(wish->grant), (unsigned long long)times);
    struct event event = {.stage = "attach", .user = wish->user, .name = wish->name, .decision = "warning", .reason = reason,
                          .plugin = plugin_line(wish->grant->plugin)->name, .tid = wish->attachment->tid, .microseconds = -1};
    event_write_rarely(&event, &wish->user->account->rare_window, &wish->user->account->rare_count);
    if (wish->request == NULL)
        verdict_again(wish, UPDATE, reason);
}

static void tell_suspended(const struct wish *wish, uint64_t times)
{
    char reason[160];
    snprintf(reason, sizeof reason, "thread %d used up its %lluus before %lluus were over, and was ordinary until then (%llu times since the last warning)",
             (int)wish->attachment->tid, (unsigned long long)wish->grant->plan.runtime, (unsigned long long)grant_window(wish->grant), (unsigned long long)times);
    struct event event = {.stage = "attach", .user = wish->user, .name = wish->name, .decision = "warning", .reason = reason,
                          .plugin = plugin_line(wish->grant->plugin)->name, .tid = wish->attachment->tid, .microseconds = -1};
    event_write_rarely(&event, &wish->user->account->rare_window, &wish->user->account->rare_count);
}

void threads_guarded(const struct guard_event *event)
{
    struct attachment *attachment = attachment_find(event->tid);
    if (attachment == NULL || attachment->started_by != event->started_by || attachment->wish->grant == NULL || !attachment->guarded)
        return;
    if (event->news == GUARD_SUSPENDED)
        tell_suspended(attachment->wish, event->times);
    else if (event->news == GUARD_LENT) {
        attachment->has_lent = true;
        tell_lent(attachment->wish, event->times);
    }
    else
        adjusting_guard_again(attachment->wish);
}

/* It has ended, or another thread's execve(2) has taken its id over, before it was watched. That one is not real-time; nor is one whose
 * owner had enough of it, but from that he cannot take the flag reset-on-fork (sched(7)). */
static bool is_watched_too_late(const struct wish *wish)
{
    struct identity identity;
    struct attributes now;
    const struct attachment *attachment = wish->attachment;
    return attachment_is_over(attachment) || (thread_look(attachment->tid, &identity) && identity.ended) ||
           (attachment->tid == attachment->process && !attachment->pending && wish->request == NULL &&
            thread_attributes(attachment->tid, &now) && !policy_is_real_time(now.policy) && !now.reset_on_fork);
}

/* That it had gone on under another id may have been looked for before the helper's call had its effect. */
static void let_go_meanwhile(const struct adjusting *adjusting, const struct wish *wish)
{
    const struct attachment ended = {.tid = adjusting->tid, .process = adjusting->process, .started_by = adjusting->started_by,
                                     .former = adjusting->former, .pidfd = -1, .watch = -1};
    if (adjusting->tid != adjusting->process && attachment_is_over(&ended))
        follow_late(wish == NULL ? NULL : wish->user, wish == NULL ? NULL : wish->name, &ended);
}

void threads_adjusted(const struct helper_event *event)
{
    struct adjusting *adjusting = adjusting_take(event->id);
    if (adjusting == NULL) {
        (void)follow_answered(event);
        return; /* a watch comes only to those who asked for it */
    }
    struct wish *wish = wish_of_task(adjusting->task);
    struct attachment *attachment = wish == NULL ? NULL : wish->attachment;
    if (attachment != NULL && (attachment->tid != adjusting->tid || attachment->started_by != adjusting->started_by))
        attachment = NULL; /* it was about one that has been let go meanwhile */
    if (attachment == NULL && !adjusting->watch)
        let_go_meanwhile(adjusting, wish);
    if (attachment != NULL && !adjusting->watch && wish->grant != NULL && !attachment->pending && !is_being_detached(wish) && event->answer == HELPER_OK)
        guard_begin(attachment, wish->grant, event->watch, true);
    else if (event->watch >= 0 && attachment != NULL && !attachment->pending)
        (void)attachment_keep_watch(attachment, event->watch, false);
    else if (event->watch >= 0)
        close(event->watch);
    if (adjusting->watch && attachment != NULL && is_watched_too_late(wish)) {
        wish->exited = true;
        wish_queue(wish);
    }
    if (event->answer == HELPER_NO || event->answer == HELPER_BUSY)
        event_broker("error", "a thread did not follow its plugin: %.400s", event->reason);
    if (event->answer != HELPER_OK && event->answer != HELPER_GONE && attachment != NULL && wish->grant != NULL) {
        attachment->awake = true; /* an apply makes good, or tells the owner, what this could not */
        wish_queue(wish);
    } else if (wish != NULL && adjusting->tell && wish->request == NULL)
        verdict_again(wish, UPDATE, "the plugin moved it to make room");
    free(adjusting);
}

/* ---- what threads do by themselves ---- */

enum { LOOKS = 3 };
static const int64_t look_after[LOOKS] = {INT64_C(10000000), INT64_C(100000000), INT64_C(1000000000)};

enum fate { GOES_ON, ENDED, REPLACED };

/* Its watch hung up, or came too late, and somebody has its id. It may be itself, for the kernel takes the watch away from who becomes a program
 * that nobody may look into: what is granted has reset-on-fork, which its owner cannot take off, and whom it is granted to is known. Then it is
 * seen again whether it may have it, for it may have become root's. */
static enum fate fate_of_leader(struct attachment *attachment, bool was_over)
{
    char reason[120];
    struct attributes now;
    const pid_t tid = attachment->tid;
    if (was_over || !thread_attributes(tid, &now) || !now.reset_on_fork || attachment_over_in(tid) != NULL)
        return REPLACED;
    snprintf(reason, sizeof reason, "thread %d called execve and has become a program that nobody may look into: it is attached anew", (int)tid);
    tell->recover(attachment->wish, UPDATE, reason);
    return GOES_ON;
}

/* The task has ended, but its id may not have: execve(2) by another thread ends the first one and then takes its id
 * over. Between the two, and if the first thread ended by itself, the id is a zombie's beside living threads. */
static enum fate fate_of(struct attachment *attachment)
{
    struct identity identity;
    const pid_t tid = attachment->tid;
    const bool was_over = attachment->looks > 0;
    if (!thread_look(tid, &identity) || identity.start > attachment->started_by)
        return ENDED;
    if (tid != attachment->process) /* nobody else takes over its id, so a watch that hung up was another's */
        return identity.ended ? ENDED : GOES_ON;
    if (attachment_find(tid) != attachment || thread_has_ended(attachment->pidfd))
        return ENDED; /* one that was gone when the broker started is nobody's to go on with */
    if (identity.ended) {
        if (attachment->looks == LOOKS)
            return ENDED;
        attachment_doubt(attachment, monotonic_now() + look_after[attachment->looks++]);
        return GOES_ON;
    }
    attachment->looks = 0;
    attachment_doubt(attachment, 0);
    return fate_of_leader(attachment, was_over);
}

/* Puts back what goes on with what was granted to it, under whatever id; and says what became of it. */
static void let_go(const struct wish *wish, enum fate fate, char *reason, size_t size)
{
    const struct attachment *attachment = wish->attachment;
    if (fate == REPLACED) {
        follow_replaced(wish, is_adjusted(attachment));
        snprintf(reason, size, "another thread of process %d called execve and has its id: it is ordinary, and not attached", (int)attachment->tid);
    } else if (follow_exec(wish))
        snprintf(reason, size, "thread %d called execve and has the id of its process now, %d: it is ordinary again, and not attached", (int)attachment->tid,
                 (int)attachment->process);
    else
        snprintf(reason, size, "thread %d has ended", (int)attachment->tid);
}

/* The attached thread is gone, or not who it was. */
void threads_look(struct wish *wish)
{
    char reason[160];
    struct attachment *attachment = wish->attachment;
    bool ends = wish->grant != NULL && wish->grant->spec.lifetime_thread;
    wish->exited = false;
    const enum fate fate = attachment == NULL ? GOES_ON : fate_of(attachment);
    if (fate == GOES_ON)
        return;
    let_go(wish, fate, reason, sizeof reason);
    if (attachment->by_file) {
        wish->leaving_tid = wish->judged_tid;
        reader_remove(wish->user, wish->name, "tid", &wish->judged_tid);
    }
    rest_begin(wish, wish->grant);
    rest_of_thread(wish);
    attachment_end(wish);
    wish->judged_tid = (struct stamp){0};
    if (ends) {
        wish->ending = true;
        reader_remove(wish->user, wish->name, "json", &wish->judged);
        return; /* without its file, the wish is released */
    }
    (void)wish_record(wish);
    verdict_again(wish, EXIT, reason);
}

void threads_ended(struct attachment *attachment)
{
    struct wish *wish = attachment->wish;
    if (attachment->pidfd >= 0)
        loop_remove(attachment->pidfd);
    if (wish == NULL)
        return;
    wish->exited = true;
    if (wish->request == NULL)
        tell->examine(wish);
}

void threads_watched(struct attachment *attachment, bool hung_up)
{
    struct wish *wish = attachment->wish;
    if (wish == NULL)
        return;
    attachment_watch_told(attachment);
    if (hung_up) {
        attachment_drop_watch(attachment);
        wish->exited = true;
    } else if (attachment->pending)
        attachment->awake = true;
    else if (attachment->tid != attachment->process)
        wish->exited = true; /* it has called execve, and its id is the leader's */
    if ((wish->exited || attachment->awake) && wish->request == NULL)
        tell->examine(wish);
}

int64_t threads_deadline(void)
{
    const struct attachment *doubtful = attachment_most_doubtful(), *unwatched = attachment_to_watch();
    const int64_t look_at = doubtful == NULL ? INT64_MAX : doubtful->look_at;
    return unwatched != NULL && unwatched->watch_at < look_at ? unwatched->watch_at : look_at;
}

void threads_expire(int64_t now)
{
    struct attachment *doubtful, *unwatched;
    while ((unwatched = attachment_to_watch()) != NULL && unwatched->watch_at <= now) {
        if (unwatched->pending)
            attachment_watch_begun(unwatched);
        else
            adjusting_watch(unwatched->wish);
    }
    while ((doubtful = attachment_most_doubtful()) != NULL && doubtful->look_at <= now) {
        attachment_doubt(doubtful, 0);
        doubtful->wish->exited = true;
        wish_queue(doubtful->wish);
    }
}
