#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "enforcing.h"
#include "event.h"
#include "files.h"
#include "order.h"
#include "rest.h"
#include "wishes.h"

/* ---- what the helper does without a request ---- */

/* A priority or CPU that moved on a plugin's word (the owner is told when the
 * thread has followed), and a watch. */
struct adjusting {
    uint64_t id, task, started_by;
    pid_t tid;
    bool tell, watch;
    UT_hash_handle hh;
};
static struct adjusting *adjustments;

static struct adjusting *expect(const struct wish *wish, uint64_t id)
{
    struct adjusting *adjusting = allocate(sizeof *adjusting);
    adjusting->id = id;
    adjusting->task = wish->task;
    adjusting->tid = wish->attachment->tid;
    adjusting->started_by = wish->attachment->started_by;
    HASH_ADD(hh, adjustments, id, sizeof adjusting->id, adjusting);
    return adjusting;
}

void threads_expect(const struct wish *wish, uint64_t id, bool tell)
{
    expect(wish, id)->tell = tell;
}

void threads_watch(struct wish *wish)
{
    attachment_watch_begun(wish->attachment);
    expect(wish, helper_watch(wish->attachment))->watch = true;
}

void threads_check(void)
{
    for (struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next)
        if (wish->attachment != NULL && wish->request == NULL && has_drifted(wish))
            threads_expect(wish, helper_apply_again(wish->attachment, wish->grant), false);
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

void threads_adjusted(const struct helper_event *event)
{
    struct adjusting *adjusting;
    HASH_FIND(hh, adjustments, &event->id, sizeof event->id, adjusting);
    if (adjusting == NULL)
        return; /* a watch comes only to those who asked for it */
    HASH_DEL(adjustments, adjusting);
    struct wish *wish = wish_of_task(adjusting->task);
    struct attachment *attachment = wish == NULL ? NULL : wish->attachment;
    if (attachment != NULL && (attachment->tid != adjusting->tid || attachment->started_by != adjusting->started_by))
        attachment = NULL; /* it was about one that has been let go meanwhile */
    if (event->watch >= 0 && attachment != NULL && !attachment->pending)
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
        answer_again(wish, UPDATE, "the plugin moved it to make room");
    free(adjusting);
}

/* ---- what threads do by themselves ---- */

enum { LOOKS = 3 };
static const int64_t look_after[LOOKS] = {INT64_C(10000000), INT64_C(100000000), INT64_C(1000000000)};

/* The task has ended, but its id may not have: execve(2) by another thread ends the first one and then takes its id
 * over. Between the two, and if the first thread ended by itself, the id is a zombie's beside living threads. */
static bool goes_on(struct attachment *attachment)
{
    struct identity identity;
    struct attributes now;
    pid_t tid = attachment->tid;
    if (!thread_look(tid, &identity) || identity.start > attachment->started_by)
        return false;
    if (tid != attachment->process) /* nobody else takes over its id, so a watch that hung up was another's */
        return !identity.ended;
    if (thread_has_ended(attachment->pidfd))
        return false;
    if (identity.ended) {
        if (attachment->looks == LOOKS)
            return false;
        attachment_doubt(attachment, monotonic_now() + look_after[attachment->looks++]);
        return true;
    }
    attachment->looks = 0;
    attachment_doubt(attachment, 0);
    attachment->replaced = true;
    rest_begin(attachment->wish, attachment->wish->grant); /* the other thread has not used any of it */
    attachment->served = false;
    attachment->since = monotonic_now();
    if (thread_attributes(tid, &now) && !policy_is_real_time(now.policy))
        attachment->former = now; /* what the other thread was is what this one was made of */
    return true;
}

/* The attached thread is gone: nothing is left to restore. */
void threads_look(struct wish *wish)
{
    char reason[80];
    struct attachment *attachment = wish->attachment;
    bool ends = wish->grant != NULL && wish->grant->spec.lifetime_thread;
    wish->exited = false;
    if (attachment == NULL || goes_on(attachment))
        return;
    pid_t gone = attachment->tid;
    if (follow_exec(wish)) {
        snprintf(reason, sizeof reason, "thread %d called execve and goes on as %d", (int)gone, (int)wish->attachment->tid);
        (void)wish_record(wish);
        order_recover(wish, UPDATE, reason);
        return;
    }
    snprintf(reason, sizeof reason, "thread %d has ended", (int)gone);
    if (attachment->by_file)
        spool_remove(wish->user, wish->name, ".tid", &wish->judged_tid);
    rest_begin(wish, wish->grant);
    rest_in_kernel(wish->rests_until);
    attachment_end(wish);
    wish->judged_tid = (struct stamp){0};
    if (ends) {
        spool_remove(wish->user, wish->name, ".json", &wish->judged);
        return; /* without its file, the wish is released */
    }
    (void)wish_record(wish);
    answer_again(wish, EXIT, reason);
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
        wish_examine(wish);
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
        wish_examine(wish);
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
            threads_watch(unwatched->wish);
    }
    while ((doubtful = attachment_most_doubtful()) != NULL && doubtful->look_at <= now) {
        attachment_doubt(doubtful, 0);
        doubtful->wish->exited = true;
        wish_queue(doubtful->wish);
    }
}
