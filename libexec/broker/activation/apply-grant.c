#include "apply-grant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounting.h"
#include "adjustments.h"
#include "ask-plugins.h"
#include "attach.h"
#include "attachments.h"
#include "cgroup.h"
#include "drift.h"
#include "execve.h"
#include "former-attributes.h"
#include "given-extras.h"
#include "grants.h"
#include "guard.h"
#include "shares.h"
#include "target-thread.h"
#include "readers.h"
#include "debts.h"
#include "zero-lag-wait.h"
#include "thread-events.h"
#include "reservations.h"

static enum step_result no_thread(struct request *request, const char *by, bool never)
{
    request_event(request, "attach", "refused", -1, request->outcome.reason);
    request_refuse(request, by, request->outcome.refusal.code, never);
    request->recorded = false;
    return DECIDED;
}

/* Refuses the change. Other reservations have taken the capacity of the former grant meanwhile, so
 * the reservation has no grant any more. */
static enum step_result lost_both(struct request *request)
{
    size_t length = strlen(request->outcome.reason);
    snprintf(request->outcome.reason + length, sizeof request->outcome.reason - length,
             "; other reservations have taken the capacity of the former grant meanwhile");
    (void)no_thread(request, "kernel", false);
    return request->reservation->attachment == NULL ? DECIDED : LET_GO;
}

enum step_result apply_grant_record(struct request *request)
{
    struct reservation *reservation = request->reservation;
    request->activation.fresh |= request->activation.target != NULL;
    request->activation.target = NULL;
    if (former_attributes_record(request))
        return grant_schedules(reservation->grant) ? DONE : NO_CPU_TIME;
    refuse_thread(request, WHY_BROKER_STATE, "the broker cannot write its state: %s",
                  strerror(errno));
    if (request->activation.fresh)
        attachment_end(reservation);
    else if (request->activation.old != NULL && !request_roll_back(request))
        return lost_both(request);
    return no_thread(request, "broker", false);
}

enum step_result apply_grant_apply(struct request *request)
{
    const struct reservation *reservation = request->reservation;
    return wait_for_helper(request, attach_apply(reservation->attachment, reservation->grant,
                                                 reservation->json.fd));
}

/* The network and disk traffic of the thread belongs to the reservation under any scheduling
 * policy. */
enum step_result apply_grant_bind(struct request *request)
{
    struct attachment *attachment = request->reservation->attachment;
    return shares_bind_is_due(attachment) ? wait_for_helper(request, shares_bind(attachment))
                                          : DONE;
}

/* Gives the extras (given-extras.h) in the last step, because a grant without CPU time may have
 * only extras, and needs no other step. */
enum step_result apply_grant_give(struct request *request)
{
    struct attachment *attachment = request->reservation->attachment;
    return extras_are_due(attachment) ? wait_for_helper(request, extras_give(attachment)) : DECIDED;
}

static enum step_result adopt_target(struct request *request)
{
    struct reservation *reservation = request->reservation;
    reservation->attachment = request->activation.target;
    reservation->attachment->since = monotonic_now();
    reservation->pending_changes &= ~THREAD_CHANGED;
    if (attachment_watch(reservation->attachment))
        return THREAD_IS_KNOWN;
    refuse_thread(request, WHY_UNCLEAR_THREAD, "thread %d cannot be watched: %s",
                  (int)reservation->attachment->tid, strerror(errno));
    request->activation.target = NULL;
    attachment_end(reservation);
    return no_thread(request, "broker", false);
}

/* The reservation gets no thread, so the broker only writes the grant into the journal. */
static enum step_result grant_only(struct request *request)
{
    struct reservation *reservation = request->reservation;
    if (request_record(request) || request->activation.old != NULL)
        return DECIDED;
    request_answer(request, SCHEDULE_FAIL, "the broker cannot write its state: %s",
                   strerror(errno));
    request_refuse(request, "broker", WHY_BROKER_STATE, false);
    grant_unbook(reservation, true);
    return DECIDED;
}

static bool is_attached(const struct attachment *now, pid_t tid)
{
    return now != NULL && now->tid == tid && !attachment_is_over(now);
}

enum step_result apply_grant_compare(struct request *request)
{
    struct reservation *reservation = request->reservation;
    struct attachment *now = reservation->attachment;
    bool by_file = request->outcome.kind == ATTACH;
    pid_t by_key = reservation->grant->spec.attach;
    pid_t wanted = by_file                       ? request->spec.attach
                   : by_key != 0                 ? by_key
                   : now != NULL && now->by_file ? now->tid
                                                 : 0;
    if (shares_are_due(reservation))
        return SHARE_IS_DUE;
    if (wanted == 0 && now == NULL)
        return grant_only(request);
    if (wanted != 0 && !grant_schedules(reservation->grant) &&
        !shares_take_thread(reservation->grant) && !extras_take_thread(reservation->grant)) {
        refuse_thread(
            request, WHY_NO_CPU_CLAIM,
            "a thread cannot be attached: the grant has no CPU time, no claim in the background, and no network or disk with enforce=htb, cgroup or ioprio");
        return no_thread(request, "broker", true);
    }
    /* a runtime of one thread and a runtime of the whole process are enforced in different ways: if
     * the spec changes from one to the other, the thread is detached first */
    bool same = is_attached(now, wanted) && now->whole == reservation->grant->spec.budget_process;
    if (wanted != 0 && debt_applies(reservation->grant) && !(same && now->served) &&
        zero_lag_wait_begin(request)) {
        /* the former grant is not in the books any more, so the thread must not keep it while the
         * request waits */
        if (same)
            (void)attach_restore(now);
        return MUST_WAIT;
    }
    if (same)
        return THREAD_IS_KNOWN;
    if (wanted != 0) {
        request->activation.target = target_thread(request, wanted, by_file);
        if (request->activation.target == NULL) {
            request_refuse(request, "broker", request->outcome.refusal.code,
                           request->activation.why_not != TARGET_TAKEN);
            request_event(request, "attach", "refused", -1, request->outcome.reason);
        }
    }
    /* detaches the attached thread even if the new thread cannot be attached, because the file no
     * longer names the attached thread */
    if (now != NULL)
        return LET_GO;
    return request->activation.target != NULL ? adopt_target(request) : DECIDED;
}

/* The thread has been made ordinary, but the kernel may still count its bandwidth in its scheduling
 * domain. True: the request waits until the kernel no longer counts this bandwidth. */
static bool owes(struct request *request, const struct helper_event *event)
{
    int64_t until = event->after == 0 ? 0 : monotonic_now() + event->after;
    if (until > request->reservation->zero_lag)
        request->reservation->zero_lag = until;
    return until > 0 && zero_lag_wait_begin(request);
}

/* Adds to the verdict that the thread is detached, because the owner may not have meant to detach
 * the thread. */
static void say_let_go(struct request *request)
{
    const size_t length = strlen(request->outcome.reason);
    if (!request->activation.fresh &&
        (request->outcome.kind == CHANGE || request->outcome.kind == ATTACH))
        snprintf(request->outcome.reason + length, sizeof request->outcome.reason - length,
                 "; thread %d is detached", (int)request->reservation->attachment->tid);
}

enum step_result apply_grant_detached(struct request *request, const struct helper_event *event)
{
    struct reservation *reservation = request->reservation;
    if (event->answer == HELPER_GONE)
        (void)execve_exec(reservation);
    if (event->answer == HELPER_PENDING && owes(request, event))
        return MUST_WAIT;
    if (event->answer != HELPER_OK && event->answer != HELPER_GONE)
        request_event(request, "attach", "error", -1, event->reason);
    /* for a fresh thread, an event has already said that the thread could not be attached */
    else if (!request->activation.fresh)
        request_event(request, "attach", "ok", -1,
                      "detached: the thread has its former attributes");
    if (event->answer == HELPER_OK)
        guard_look_at(reservation->attachment);
    debt_begin(reservation, reservation->grant);
    if (event->answer == HELPER_GONE)
        debt_of_thread(reservation);
    say_let_go(request);
    attachment_end(reservation);
    request->recorded = false;
    if (request->outcome.kind == RELEASE)
        return SPEC_IS_GONE;
    if (request->activation.target == NULL)
        return DECIDED;
    attachment_bury(request->activation.target);
    request->activation.target = NULL;
    /* the journal shows no attached thread while the request waits for the reservation's 0-lag
     * time */
    (void)reservation_record(reservation);
    return DONE;
}

enum step_result apply_grant_detach(struct request *request)
{
    static const struct helper_event nothing_to_restore = {.answer = HELPER_OK, .watch = -1};
    struct attachment *attachment = request->reservation->attachment;
    /* the helper obeys its orders in turn, so waiting for the later order is enough */
    const uint64_t taken_back = extras_take_back(attachment);
    if (attachment->scheduled)
        return wait_for_helper(request, attach_restore(attachment));
    return taken_back != 0 ? wait_for_helper(request, taken_back)
                           : apply_grant_detached(request, &nothing_to_restore);
}

/* True: the thread runs on a CPU of the plan. The thread may have woken before the watch began, and
 * then the watch does not report the waking. */
static bool runs_by_now(const struct reservation *reservation)
{
    struct identity now;
    return thread_look(reservation->attachment->tid, &now) && now.runnable &&
           CPU_ISSET((size_t)now.cpu, &reservation->grant->plan.cpus);
}

/* A nap: the thread sleeps again before the helper can make it real-time. Each nap costs the broker
 * time, and the owner controls how often the thread sleeps. So after NAPS naps the broker gives up.
 * After AT_ONCE naps in a row, the broker pauses before it tries again. A pause counts as
 * NAPS_IN_PAUSE naps. */
enum { NAPS = 50, AT_ONCE = 3, NAPS_IN_PAUSE = 7 };

/* Returns how long (ns) the broker pauses when the thread is awake but cannot be made
 * SCHED_DEADLINE yet. There are two causes. The thread's runtime may be used up; the thread gets
 * runtime again at the end of the period. Or the thread may hold a lock in the kernel (PREEMPT_RT)
 * while other threads keep it from running. */
static int64_t pause_of(const struct reservation *reservation)
{
    const int64_t first = INT64_C(10000000),
                  period = (int64_t)reservation->grant->plan.period * 1000;
    int64_t pause = first << ((reservation->attachment->naps - AT_ONCE - 1) / NAPS_IN_PAUSE);
    return pause > period ? pause : period;
}

/* The thread sleeps: makes it real-time when it wakes, because the kernel can make a thread
 * real-time only when the thread runs. */
static enum step_result pending(struct request *request, const struct helper_event *event)
{
    struct reservation *reservation = request->reservation;
    int watch = event->watch;
    if (watch < 0 && reservation->attachment->watch >= 0)
        watch = dup(reservation->attachment->watch);
    bool watched = attachment_keep_watch(reservation->attachment, watch, true);
    if (!watched || reservation->attachment->naps++ >= NAPS) {
        refuse_thread(
            request, WHY_KERNEL,
            watched
                ? "thread %d sleeps again each time before it can be made real-time: attach it while it computes, or attach a new thread"
                : "thread %d sleeps, and the broker cannot hear when it wakes: the kernel gives no perf events",
            (int)reservation->attachment->tid);
        (void)no_thread(request, "kernel", false);
        return LET_GO;
    }
    if (runs_by_now(reservation) && reservation->attachment->naps > AT_ONCE &&
        reservation->grant->plan.policy == POLICY_DEADLINE) {
        reservation->zero_lag = monotonic_now() + pause_of(reservation);
        reservation->attachment->naps += NAPS_IN_PAUSE - 1;
        reservation->attachment->served = false;
        if (zero_lag_wait_begin(request))
            return MUST_WAIT;
    }
    if (runs_by_now(reservation))
        return AWAKE;
    reservation->attachment->state = ATTACHMENT_ASLEEP;
    /* programs that read the journal see that the thread sleeps */
    (void)reservation_record(reservation);
    size_t length = request->outcome.kind == UPDATE ? 0 : strlen(request->outcome.reason);
    snprintf(request->outcome.reason + length, sizeof request->outcome.reason - length,
             "%sthread %d sleeps, and is real-time as soon as it wakes", length == 0 ? "" : "; ",
             (int)reservation->attachment->tid);
    request_event(request, "attach", "ok", reservation->grant->plugin,
                  "the thread sleeps and is attached when it wakes");
    return DECIDED;
}

/* The kernel may lack only the bandwidth that the guard has for itself. The guard gives up this
 * bandwidth once. If the kernel then refuses again, there is no room for the thread. */
static bool waits_for_the_guard(struct request *request)
{
    struct reservation *reservation = request->reservation;
    if (request->activation.has_asked_guard) {
        guard_rise();
        return false;
    }
    request->activation.has_asked_guard = true;
    guard_yield();
    reservation->zero_lag = monotonic_now() + GUARD_YIELDS_IN;
    reservation->attachment->served = false;
    return zero_lag_wait_begin(request);
}

static enum step_result gone(struct request *request)
{
    struct reservation *reservation = request->reservation;
    refuse_thread(request, WHY_NO_THREAD, "thread %d has %s", (int)reservation->attachment->tid,
                  execve_exec(reservation) ? "called execve: it is ordinary, and not attached"
                                           : "ended");
    /* the thread may have ended only after the helper had made it real-time, and may have used CPU
     * time */
    reservation->attachment->served = true;
    debt_begin(reservation, reservation->grant);
    debt_of_thread(reservation);
    attachment_end(reservation);
    if (reservation->grant->spec.lifetime_thread && reservation->state != RESERVATION_WITHDRAWN) {
        reservation_end(reservation, ENDED_THREAD);
        reader_remove(reservation->user, reservation->name, "json", &reservation->judged);
    }
    return no_thread(request, "broker", true);
}

enum step_result apply_grant_applied(struct request *request, const struct helper_event *event)
{
    struct reservation *reservation = request->reservation;
    const bool slept = attachment_is_pending(reservation->attachment);
    reservation->attachment->state = ATTACHMENT_IN_FORCE;
    if (event->answer == HELPER_PENDING)
        return owes(request, event) ? MUST_WAIT : pending(request, event);
    if (event->answer == HELPER_OK) {
        reservation->attachment->naps = 0;
        reservation->attachment->only_awake = false;
        guard_begin(reservation->attachment, reservation->grant, event->watch, false);
        attachment_watch_soon(reservation->attachment);
        reservation->attachment->served |= debt_applies(reservation->grant);
        if (slept)
            (void)reservation_record(reservation);
        request_event(request, "attach", "ok", reservation->grant->plugin,
                      "attached: the thread runs as granted");
        return DONE;
    }
    if (event->answer == HELPER_GONE && request->outcome.kind == UPDATE) {
        reservation->pending_changes |= THREAD_CHANGED;
        return HAS_ENDED;
    }
    if (event->answer == HELPER_GONE)
        return gone(request);
    if (event->answer == HELPER_BUSY && waits_for_the_guard(request))
        return MUST_WAIT;
    refuse_thread(request, WHY_KERNEL, "%.400s", event->reason);
    /* The helper has given the thread its former attributes back. If the thread was attached with
     * an old grant, this grant is in force again. Otherwise the broker detaches the thread, even if
     * the thread was not attached before this request: the helper may have died in the middle of
     * the call, and the next reservation must not find a half-attached thread. */
    bool never = event->answer != HELPER_BUSY;
    if (request->activation.fresh || request->activation.old == NULL) {
        (void)no_thread(request, "kernel", never);
        return LET_GO;
    }
    if (!request_roll_back(request))
        return lost_both(request);
    if (has_drifted(
            reservation)) /* the helper could not give the thread its former attributes back */
        adjustments_expect(reservation,
                           attach_apply_again(reservation->attachment, reservation->grant), NULL);
    else
        adjustments_guard_again(reservation); /* the guard enforces the former grant again */
    return no_thread(request, "kernel", never);
}

enum step_result apply_grant_share(struct request *request)
{
    return wait_for_helper(request, shares_keep(request->reservation));
}

/* If a share of the network or disk cannot be made, the whole grant is refused. */
enum step_result apply_grant_shared(struct request *request, const struct helper_event *event)
{
    struct reservation *reservation = request->reservation;
    if (event->answer == HELPER_OK)
        return DONE;
    shares_failed(reservation);
    request_answer(request, SCHEDULE_FAIL, "%.400s", event->reason);
    request_event(request, "attach", "refused", -1, request->outcome.reason);
    request_refuse(request, "kernel", WHY_KERNEL, false);
    if (request->activation.old != NULL)
        return request_roll_back(request) ? DECIDED : lost_both(request);
    grant_unbook(reservation, true);
    request->recorded = false;
    return DECIDED;
}

enum step_result apply_grant_bound(struct request *request, const struct helper_event *event)
{
    struct reservation *reservation = request->reservation;
    if (event->answer == HELPER_GONE)
        return gone(request);
    if (event->answer == HELPER_OK) {
        attachment_watch_soon(reservation->attachment);
        if (shares_bind_is_due(reservation->attachment))
            return SHARE_IS_DUE;
        request_event(request, "attach", "ok", shares_plugin(reservation->grant),
                      shares_in_words(reservation->grant));
        return DONE;
    }
    refuse_thread(request, WHY_KERNEL, "%.400s", event->reason);
    (void)no_thread(request, "kernel", false);
    return LET_GO;
}

enum step_result apply_grant_given(struct request *request, const struct helper_event *event)
{
    struct reservation *reservation = request->reservation;
    if (event->answer == HELPER_GONE)
        return gone(request);
    if (event->answer == HELPER_OK) {
        attachment_watch_soon(reservation->attachment);
        request_event(request, "attach", "ok", -1,
                      "attached: the thread has what the spec asks for beside CPU time");
        /* the journal gets the extras, so that the next broker can tell which extras the user has
         * changed since */
        (void)reservation_record(reservation);
        return DECIDED;
    }
    refuse_thread(request, WHY_KERNEL, "%.400s", event->reason);
    (void)no_thread(request, "kernel", false);
    return LET_GO;
}
