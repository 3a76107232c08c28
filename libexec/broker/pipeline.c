#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "account.h"
#include "accounting.h"
#include "attachments.h"
#include "claims.h"
#include "debts.h"
#include "directories.h"
#include "apply-grant.h"
#include "event.h"
#include "given-extras.h"
#include "grants.h"
#include "ask-plugins.h"
#include "expiry.h"
#include "owner.h"
#include "readers.h"
#include "refusals.h"
#include "reload.h"
#include "reservations.h"
#include "revoking.h"
#include "shares.h"
#include "spare-capacity.h"
#include "journal.h"
#include "status-file.h"
#include "trial.h"
#include "verdict.h"
#include "wait-queue.h"
#include "zero-lag-wait.h"

static bool nothing_is_left(const struct reservation *reservation)
{
    return reservation->judged.inode == 0 && reservation->judged_tid.inode == 0 &&
           reservation->leaving_tid.inode == 0 && reservation->grant == NULL &&
           reservation->attachment == NULL && reservation->expected == EXPECT_NOTHING;
}

void pipeline_forget_if_empty(struct reservation *reservation)
{
    struct user *user = reservation->user;
    if (!nothing_is_left(reservation))
        return;
    /* A verdict may be left from an earlier reservation of this name. */
    reader_remove(user, reservation->name, "verdict", NULL);
    reservation_forget(reservation);
    if (user->state == DIRECTORY_GONE && user->reservations == NULL)
        user_close(user);
}

bool pipeline_is_to_be_applied_again(const struct reservation *reservation)
{
    return reservation->recovery != NULL || reservation->raises ||
           (reservation->attachment != NULL &&
            attachment_is_to_be_applied(reservation->attachment));
}

/* Tells the reader that the reported files get no further answer. */
void pipeline_end_snapshot(struct reservation *reservation)
{
    if (reservation->snapshot != NULL)
        reader_done(reservation->user, reservation->name);
    reservation_snapshot_end(reservation);
}

/* Call this after the answer to a request. Queues the reservation if the broker has more to do for
 * it. Otherwise frees the reservation if it is empty. If the reader is expected to report changed
 * files, the report queues the reservation. */
static void examine_grant(struct reservation *reservation)
{
    if (reservation->snapshot != NULL || reservation->state == RESERVATION_WITHDRAWN ||
        (reservation->pending_changes & THREAD_CHANGED) != 0 ||
        pipeline_is_to_be_applied_again(reservation) ||
        ((reservation->pending_changes & FILES_CHANGED) != 0 &&
         reservation->expected == EXPECT_NOTHING))
        reservation_queue(reservation);
    else
        pipeline_forget_if_empty(reservation);
}

/* True: the reader's report shows a change of NAME.tid that is still to be judged. NAME.tid is
 * judged after NAME.json, even if NAME.json is gone. */
static bool has_more(const struct reservation *reservation, enum kind answered)
{
    return reservation->snapshot != NULL && answered != ATTACH && answered != DETACH &&
           reservation->state != RESERVATION_OVER_LIMIT &&
           file_is_another(&reservation->snapshot->tid, &reservation->judged_tid);
}

/* True: the request is refused, waiting can help, and the spec says "on_refusal": "wait". */
static bool is_to_wait(const struct request *request)
{
    const struct outcome *outcome = &request->outcome;
    return request->has_spec && request->spec.waits && !outcome->dry_run &&
           !outcome->refusal.never &&
           (outcome->result == SCHEDULE_FAIL || outcome->result == ACL_FAIL) &&
           outcome->kind != UPDATE;
}

static void settle_waiting(struct request *request)
{
    struct reservation *reservation = request->reservation;
    if (is_to_wait(request)) {
        request->outcome.result = RESULT_WAITING;
        wait_queue_add(reservation, boottime_now(), request->outcome.refusal.code);
    } else if (request->json.state != FILE_ABSENT && request->outcome.kind != ATTACH &&
               request->outcome.kind != DETACH)
        wait_queue_leave(reservation);
}

/* True: the verdict says already why the reservation waits, so the owner gets no new verdict. The
 * broker asks again whenever other users give up capacity. The owner must not learn how often this
 * happens. */
static bool was_in_vain(const struct request *request)
{
    const struct reservation *reservation = request->reservation;
    return is_asked_again(reservation) && is_to_wait(request) &&
           waits_for(reservation, request->outcome.refusal.code) &&
           !file_is_another(&request->json, &reservation->judged) &&
           !has_more(reservation, request->outcome.kind);
}

static void tell_answer(struct request *request)
{
    struct reservation *reservation = request->reservation;
    (void)request_record(request);
    if (request->outcome.result == SCHEDULE_FAIL || request->outcome.result == ACL_FAIL)
        status_refused();
    const bool more = has_more(reservation, request->outcome.kind);
    verdict_tell(reservation, &request->outcome, (monotonic_now() - request->started) / 1000,
                 reservation->snapshot != NULL, more);
    /* the verdict is the last message to the reader about these files */
    if (!more)
        reservation_snapshot_end(reservation);
}

/* Call this when root has revoked the reservation, and the reservation holds nothing any more.
 * Tells rtf revoke, even if the reader has not removed NAME.json. */
static void end_withdrawn(struct reservation *reservation)
{
    if (reservation->judged.inode != 0)
        reader_remove(reservation->user, reservation->name, "json", &reservation->judged);
    revoking_done(reservation);
}

/* Returns why the reservation ends with this answer: root has revoked the reservation, or the spec
 * has "lifetime": "thread" and the thread could not be attached. A reservation that ends must not
 * hold capacity. */
static enum ended ended_by(const struct request *request)
{
    const struct outcome *outcome = &request->outcome;
    const struct grant *grant = request->reservation->grant;
    if (outcome->kind == UPDATE && outcome->result == ACL_FAIL && !request->spare.for_more)
        return ENDED_REVOKE;
    return outcome->result == ATTACH_FAIL && request->reservation->attachment == NULL &&
                   grant != NULL && grant->spec.lifetime_thread
               ? ENDED_THREAD
               : ENDED_NOT;
}

static enum step_result answer(struct request *request)
{
    struct reservation *reservation = request->reservation;
    const bool in_vain =
        was_in_vain(request) || (request->spare.for_more && !spare_capacity_has_changed(request));
    const bool over_limit = reservation->state == RESERVATION_OVER_LIMIT &&
                            (reservation->pending_changes & FILES_CHANGED) == 0 &&
                            reservation->grant == NULL && reservation->attachment == NULL;
    request->outcome.ended = ended_by(request);
    const bool withdrawn =
        request->outcome.ended == ENDED_REVOKE && request->outcome.refusal.code == WHY_REVOKED;
    if (reservation->grant != NULL && reservation->attachment == NULL &&
        request->outcome.ended != ENDED_NOT) {
        grant_unbook(reservation, true);
        request->recorded = false;
    }
    shares_follow(reservation);
    settle_waiting(request);
    if (in_vain) {
        (void)request_record(request);
        pipeline_end_snapshot(reservation);
    } else
        tell_answer(request);
    request_drop(request);
    if (withdrawn)
        end_withdrawn(reservation);
    if (over_limit && reservation->expected == EXPECT_NOTHING)
        reservation_forget(reservation);
    else
        examine_grant(reservation);
    return IN_PROGRESS;
}

/* A directory that was moved away and back is a new directory to the broker. The reservation in the
 * new directory (the successor) may have been refused the thread, because the old reservation still
 * had it. So the broker looks at the successor again. */
static void tell_successor(const struct reservation *reservation)
{
    struct user *user = user_find(reservation->user->name);
    struct reservation *successor =
        user == NULL ? NULL : reservation_find(user, reservation->name, false);
    if (successor == NULL || successor->attachment != NULL)
        return;
    successor->judged_tid = (struct stamp){0};
    if (successor->grant != NULL && successor->grant->spec.attach != 0)
        successor->judged = (struct stamp){0};
    reservation_queue(successor);
}

static enum step_result released(struct request *request)
{
    static const char *const reasons[] = {[ENDED_REVOKE] = "revoked by an administrator",
                                          [ENDED_LEASE] = "the spec was not renewed in time",
                                          [ENDED_THREAD] = "the thread has ended",
                                          [ENDED_USER] = "the owner has removed the spec"};
    struct reservation *reservation = request->reservation;
    const bool more = has_more(reservation, RELEASE);
    const enum ended ended =
        reservation->state == RESERVATION_ENDING ? reservation->ended : ENDED_USER;
    struct event event = {.stage = "release",
                          .user = reservation->user,
                          .name = reservation->name,
                          .request = kind_name(RELEASE),
                          .decision = "ok",
                          .reason = reasons[ended],
                          .plugin = grant_plugin_name(reservation->grant),
                          .ended = ended,
                          .token = reservation->token,
                          .microseconds = (monotonic_now() - request->started) / 1000,
                          .grant = verdict_grant(reservation->grant)};
    grant_unbook(reservation, true);
    shares_follow(reservation);
    reader_release(reservation->user, reservation->name, ended_name(ended));
    if (reservation->judged_tid.inode != 0 && reservation->snapshot != NULL &&
        reservation->snapshot->tid.state != FILE_ABSENT &&
        reservation->user->state != DIRECTORY_GONE) {
        reservation->leaving_tid = reservation->judged_tid;
        /* the reader reports when the file is gone, whichever process removes it */
        reader_remove(reservation->user, reservation->name, "tid", &reservation->leaving_tid);
        /* this comes before journal_gone, because after it no record says to which reservation the
         * file belonged */
        readers_flush();
    }
    /* this record comes last: after a crash before it, the next broker releases the reservation
     * once more */
    (void)journal_gone(reservation);
    /* while the reader has to remove NAME.tid, the reservation stays, and counts */
    if (reservation->leaving_tid.inode == 0)
        reservation_uncount(reservation);
    event_write(&event);
    json_decref(event.grant);
    if (reservation->user->state == DIRECTORY_GONE)
        tell_successor(reservation);
    wait_queue_leave(reservation);
    expiry_until(reservation, 0);
    reservation->judged = reservation->judged_tid = (struct stamp){0};
    free(reservation->token);
    reservation->token = NULL;
    if (reservation->state == RESERVATION_ENDING)
        reservation->state = RESERVATION_OPEN;
    request_drop(request);
    if (!more)
        pipeline_end_snapshot(reservation);
    examine_grant(reservation);
    return IN_PROGRESS;
}

/* Tells the owner why the request waits: CPU time that other reservations have used counts until it
 * is paid back (debts.h), which can take some seconds. */
static enum step_result tell_waiting(struct request *request)
{
    const struct outcome kept = request->outcome;
    if (is_asked_again(request->reservation) || !zero_lag_wait_is_to_be_told(request))
        return IN_PROGRESS;
    request_take_token(request);
    refusal_say(request, RESOURCE_CPU);
    request->outcome.result = RESULT_WAITING;
    verdict_tell(request->reservation, &request->outcome, -1, false, false);
    request->outcome = kept;
    return IN_PROGRESS;
}

static enum step_result pipeline_look_again(struct request *request)
{
    struct reservation *reservation = request->reservation;
    request_drop(request);
    pipeline_end_snapshot(reservation);
    reservation_queue(reservation);
    return IN_PROGRESS;
}

static enum step_result pipeline_wait(struct request *request)
{
    (void)request;
    return IN_PROGRESS;
}

/* ---- which step follows a step ----
 *
 * First the plugins decide: claim after claim, then CPU time; plugin after plugin, until one plugin
 * takes the request.
 *
 *     BEGUN ┬─ a spec ─────────► ACCOUNT ┬─ known ────────► CHOOSE
 *           │                            └─ decided ──────► ANSWER
 *           ├─ more is wanted ─► CHOOSE
 *           ├─ thread is named ► ENFORCE
 *           ├─ thread is known ► APPLY
 *           ├─ let go ─────────► DETACH
 *           ├─ spec is gone ───► RELEASE
 *           └─ decided ────────► ANSWER
 *
 *     CHOOSE ┬─ a claim ───────► CLAIM ─┬─ held ───────────► CHOOSE
 *            │                          └─ no ─────────────► NEXT_PLUGIN ───► CHOOSE
 *            ├─ CPU time ──────► ACCEPT ┬─ granted ────────► ENFORCE
 *            │                          ├─ offered ────────► JUDGE
 *            │                          ├─ other runtime ──► PROBE
 *            │                          ├─ crossed ────────► CHOOSE, the same plugin
 *            │                          └─ no, or a part ──► NEXT_PLUGIN
 *            ├─ other runtime ─► PROBE ─┬─ offered ────────► JUDGE
 *            │                          ├─ other runtime ──► PROBE
 *            │                          └─ no ─────────────► NEXT_PLUGIN
 *            ├─ a part is left ► JUDGE ─┬─ agreed ─────────► SCHEDULE
 *            │                          ├─ less is enough ─► ACCEPT
 *            │                          ├─ other runtime ──► PROBE
 *            │                          ├─ crossed ────────► CHOOSE, the same plugin
 *            │                          └─ no ─────────────► NEXT_PLUGIN
 *            ├─ agreed ────────► SCHEDULE ┬─ granted ──────► ENFORCE
 *            │                            ├─ trial is over ► CHOOSE, from the first plugin
 *            │                            └─ decided ──────► ANSWER
 *            ├─ no plugin left ► REFUSED ┬─ came free ─────► ROUND ─────────► CHOOSE, from the first plugin
 *            │                           ├─ must wait ─────► ROOM ──────────► ROUND
 *            │                           ├─ trial is over, claim again ─────► CHOOSE, from the first plugin
 *            │                           └─ decided ───────► ANSWER
 *            ├─ not its turn ──► TURN ──► CHOOSE, the same plugin
 *            ├─ held ──────────► CHOOSE, the next claim
 *            ├─ granted ───────► ENFORCE
 *            └─ decided ───────► ANSWER
 *
 * Then the kernel follows the grant. No step from here on leads back to a plugin.
 *
 *     ENFORCE ┬─ share is due ──► SHARE ─┬─ done ──────────► ENFORCE
 *             │                          ├─ let go ────────► DETACH
 *             │                          └─ decided ───────► ANSWER
 *             ├─ must wait ─────► DEBT ──► ENFORCE
 *             ├─ thread is known► RECORD ┬─ done ──────────► APPLY
 *             │                          ├─ no CPU time ───► BIND
 *             │                          ├─ let go ────────► DETACH
 *             │                          └─ decided ───────► ANSWER
 *             ├─ let go ────────► DETACH ┬─ done ──────────► ENFORCE, for another thread
 *             │                          ├─ must wait ─────► LEAVE ─────────► DETACH
 *             │                          ├─ spec is gone ──► RELEASE
 *             │                          └─ decided ───────► ANSWER
 *             └─ decided ───────► ANSWER
 *
 *     APPLY ┬─ done ───────────► BIND ─┬─ share is due ────► BIND, the next helper
 *           │                          ├─ done ────────────► GIVE ┬─ let go ─► DETACH
 *           │                          │                          └─ decided ► ANSWER
 *           │                          ├─ let go ──────────► DETACH
 *           │                          └─ decided ─────────► ANSWER
 *           ├─ awake ──────────► APPLY
 *           ├─ must wait ──────► DEBT
 *           ├─ let go ─────────► DETACH
 *           ├─ has ended ──────► LOOK_AGAIN
 *           └─ decided ────────► ANSWER
 *
 * The tables below say the same. `begin` begins a step, and `plugin` or `helper` takes an answer
 * that the step waits for. as_if: if the request is in a trial (trial.h), the step computes as if
 * the other reservations had only what they need. */
static const struct {
    enum step_result (*begin)(struct request *request);
    enum step_result (*plugin)(struct request *request, const struct plugin_event *event);
    enum step_result (*helper)(struct request *request, const struct helper_event *event);
    bool as_if;
} steps[STEPS] = {
    [STEP_ACCOUNT] = {.begin = owner_look_up},
    [STEP_CHOOSE] = {.begin = ask_plugins_choose, .as_if = true},
    [STEP_TURN] = {.begin = pipeline_wait},
    [STEP_CLAIM] = {.begin = claims_ask, .plugin = claims_answered, .as_if = true},
    [STEP_ACCEPT] = {.begin = ask_plugins_accept,
                     .plugin = ask_plugins_accept_answered,
                     .as_if = true},
    [STEP_PROBE] = {.begin = ask_plugins_probe,
                    .plugin = ask_plugins_probe_answered,
                    .as_if = true},
    [STEP_JUDGE] = {.begin = ask_plugins_judge, .plugin = ask_plugins_judged, .as_if = true},
    [STEP_NEXT_PLUGIN] = {.begin = ask_plugins_next},
    [STEP_SCHEDULE] = {.begin = ask_plugins_schedule,
                       .plugin = ask_plugins_scheduled,
                       .as_if = true},
    [STEP_REFUSED] = {.begin = ask_plugins_refuse, .as_if = true},
    [STEP_ROOM] = {.begin = tell_waiting},
    [STEP_ROUND] = {.begin = ask_plugins_round},
    [STEP_ENFORCE] = {.begin = apply_grant_compare},
    [STEP_SHARE] = {.begin = apply_grant_share, .helper = apply_grant_shared},
    [STEP_DEBT] = {.begin = pipeline_wait},
    [STEP_RECORD] = {.begin = apply_grant_record},
    [STEP_APPLY] = {.begin = apply_grant_apply, .helper = apply_grant_applied},
    [STEP_BIND] = {.begin = apply_grant_bind, .helper = apply_grant_bound},
    [STEP_GIVE] = {.begin = apply_grant_give, .helper = apply_grant_given},
    [STEP_DETACH] = {.begin = apply_grant_detach, .helper = apply_grant_detached},
    [STEP_LEAVE] = {.begin = pipeline_wait},
    [STEP_ANSWER] = {.begin = answer},
    [STEP_RELEASE] = {.begin = released},
    [STEP_LOOK_AGAIN] = {.begin = pipeline_look_again},
};

/* STEP_BEGUN: there is no such edge, because no step leads back to the beginning. */
static const enum step follows[STEPS][STEP_RESULTS] = {
    [STEP_BEGUN] = {[SPEC_IS_NEW] = STEP_ACCOUNT,
                    [MORE_IS_WANTED] = STEP_CHOOSE,
                    [THREAD_IS_NAMED] = STEP_ENFORCE,
                    [THREAD_IS_KNOWN] = STEP_APPLY,
                    [LET_GO] = STEP_DETACH,
                    [SPEC_IS_GONE] = STEP_RELEASE,
                    [DECIDED] = STEP_ANSWER},
    [STEP_ACCOUNT] = {[DONE] = STEP_CHOOSE, [DECIDED] = STEP_ANSWER},
    [STEP_CHOOSE] = {[CLAIM_IS_NEXT] = STEP_CLAIM,
                     [HELD] = STEP_CHOOSE,
                     [CPU_IS_NEXT] = STEP_ACCEPT,
                     [OTHER_RUNTIME] = STEP_PROBE,
                     [PART_IS_LEFT] = STEP_JUDGE,
                     [NOT_ITS_TURN] = STEP_TURN,
                     [AGREED] = STEP_SCHEDULE,
                     [GRANTED] = STEP_ENFORCE,
                     [NO_PLUGIN_LEFT] = STEP_REFUSED,
                     [DECIDED] = STEP_ANSWER},
    [STEP_TURN] = {[DONE] = STEP_CHOOSE},
    [STEP_CLAIM] = {[HELD] = STEP_CHOOSE, [SAYS_NO] = STEP_NEXT_PLUGIN},
    [STEP_ACCEPT] = {[SAYS_NO] = STEP_NEXT_PLUGIN,
                     [OFFERED_A_PART] = STEP_NEXT_PLUGIN,
                     [CROSSED] = STEP_CHOOSE,
                     [OTHER_RUNTIME] = STEP_PROBE,
                     [OFFERED] = STEP_JUDGE,
                     [GRANTED] = STEP_ENFORCE},
    [STEP_PROBE] =
        {[SAYS_NO] = STEP_NEXT_PLUGIN, [OTHER_RUNTIME] = STEP_PROBE, [OFFERED] = STEP_JUDGE},
    [STEP_JUDGE] = {[SAYS_NO] = STEP_NEXT_PLUGIN,
                    [CROSSED] = STEP_CHOOSE,
                    [LESS_IS_ENOUGH] = STEP_ACCEPT,
                    [OTHER_RUNTIME] = STEP_PROBE,
                    [AGREED] = STEP_SCHEDULE},
    [STEP_NEXT_PLUGIN] = {[DONE] = STEP_CHOOSE},
    [STEP_SCHEDULE] =
        {[GRANTED] = STEP_ENFORCE, [TRIAL_IS_OVER] = STEP_CHOOSE, [DECIDED] = STEP_ANSWER},
    [STEP_REFUSED] = {[CLAIM_AGAIN] = STEP_CHOOSE,
                      [TRIAL_IS_OVER] = STEP_CHOOSE,
                      [CAME_FREE] = STEP_ROUND,
                      [MUST_WAIT] = STEP_ROOM,
                      [DECIDED] = STEP_ANSWER},
    [STEP_ROOM] = {[DONE] = STEP_ROUND},
    [STEP_ROUND] = {[DONE] = STEP_CHOOSE},
    [STEP_ENFORCE] = {[SHARE_IS_DUE] = STEP_SHARE,
                      [MUST_WAIT] = STEP_DEBT,
                      [THREAD_IS_KNOWN] = STEP_RECORD,
                      [LET_GO] = STEP_DETACH,
                      [DECIDED] = STEP_ANSWER},
    [STEP_SHARE] = {[DONE] = STEP_ENFORCE, [LET_GO] = STEP_DETACH, [DECIDED] = STEP_ANSWER},
    [STEP_DEBT] = {[DONE] = STEP_ENFORCE},
    [STEP_RECORD] = {[DONE] = STEP_APPLY,
                     [NO_CPU_TIME] = STEP_BIND,
                     [LET_GO] = STEP_DETACH,
                     [DECIDED] = STEP_ANSWER},
    [STEP_APPLY] = {[DONE] = STEP_BIND,
                    [AWAKE] = STEP_APPLY,
                    [MUST_WAIT] = STEP_DEBT,
                    [LET_GO] = STEP_DETACH,
                    [HAS_ENDED] = STEP_LOOK_AGAIN,
                    [DECIDED] = STEP_ANSWER},
    [STEP_BIND] = {[SHARE_IS_DUE] = STEP_BIND,
                   [DONE] = STEP_GIVE,
                   [LET_GO] = STEP_DETACH,
                   [DECIDED] = STEP_ANSWER},
    [STEP_GIVE] = {[LET_GO] = STEP_DETACH, [DECIDED] = STEP_ANSWER},
    [STEP_DETACH] = {[MUST_WAIT] = STEP_LEAVE,
                     [DONE] = STEP_ENFORCE,
                     [SPEC_IS_GONE] = STEP_RELEASE,
                     [DECIDED] = STEP_ANSWER},
    [STEP_LEAVE] = {[DONE] = STEP_DETACH},
};

enum step pipeline_follows(enum step step, enum step_result result)
{
    return follows[step][result];
}

/* Ends when the request waits for something, or is freed. */
static void pipeline_go_on(struct request *request, enum step_result result)
{
    while (result != IN_PROGRESS) {
        const enum step step = follows[request->step][result];
        /* the diagram has no such step: the broker ends, because it might grant a request twice,
         * and the next broker starts from the journal */
        if (step == STEP_BEGUN)
            abort();
        request->step = step;
        if (steps[step].as_if)
            trial_enter(request);
        result = steps[step].begin(request);
        if (steps[step].as_if)
            trial_leave();
    }
}

void pipeline_begin(struct request *request, enum step_result asked)
{
    pipeline_go_on(request, asked);
}

void pipeline_account_known(struct account *account)
{
    struct request *request;
    owner_is_known(account);
    while ((request = owner_next_waiting(account)) != NULL)
        pipeline_go_on(request, owner_check(request));
}

void pipeline_turn_has_come(struct request *request)
{
    pipeline_go_on(request, DONE);
}

void pipeline_plugin_answered(const struct plugin_event *event)
{
    struct request *request = take_waiting_for_plugin(event->id);
    if (request == NULL)
        return; /* no request waits for the answer to a release or a load */
    trial_enter(request);
    const enum step_result result = steps[request->step].plugin(request, event);
    trial_leave();
    pipeline_go_on(request, result);
}

bool pipeline_helper_answered(const struct helper_event *event)
{
    struct request *request = take_waiting_for_helper(event->id);
    if (request == NULL)
        return false;
    extras_answered(event);
    if (event->answer == HELPER_OK && event->after > 0)
        debt_in_kernel(monotonic_now() + event->after);
    pipeline_go_on(request, steps[request->step].helper(request, event));
    return true;
}

void pipeline_has_waited(struct request *request)
{
    trial_may_begin_again(request);
    pipeline_go_on(request, DONE);
}
