#include "order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "accounting.h"
#include "acl.h"
#include "asking.h"
#include "attachments.h"
#include "directories.h"
#include "enforcing.h"
#include "event.h"
#include "grants.h"
#include "leases.h"
#include "memory.h"
#include "moves.h"
#include "names.h"
#include "shares.h"
#include "spare.h"
#include "readers.h"
#include "reload.h"
#include "request.h"
#include "resource-cpu.h"
#include "waiters.h"
#include "waiting.h"
#include "refusals.h"
#include "scans.h"
#include "spool.h"
#include "state.h"
#include "threads.h"
#include "turns.h"
#include "verdict.h"
#include "reservations.h"

struct recovery {
    enum kind kind;
    char reason[160];
};

enum { TURN_RESERVATIONS = 32 };

/* ---- verdicts ---- */

static void advance(struct request *request, enum next next);

static void has_waited(struct request *request)
{
    advance(request, request->then == ASK ? ask_again(request) : request->then);
}

static void lease_is_over(struct reservation *reservation);

bool order_prepare(void)
{
    static const struct thread_events thread_events = {.examine = reservation_examine, .recover = order_recover};
    waiting_prepare(has_waited);
    threads_prepare(&thread_events);
    return leases_prepare(lease_is_over);
}

static bool nothing_is_left(const struct reservation *reservation)
{
    return reservation->judged.inode == 0 && reservation->judged_tid.inode == 0 && reservation->leaving_tid.inode == 0 && reservation->grant == NULL && reservation->attachment == NULL &&
           reservation->expected == EXPECT_NOTHING;
}

static void forget_if_empty(struct reservation *reservation)
{
    struct user *user = reservation->user;
    if (!nothing_is_left(reservation))
        return;
    reader_remove(user, reservation->name, "verdict", NULL); /* of a reservation that was not kept in mind */
    reservation_forget(reservation);
    if (user->state == DIRECTORY_GONE && user->reservations == NULL)
        user_close(user);
}

bool order_has_queue(void)
{
    return turns_are_due() || turn_is_due() || waiters_are_due() || spare_is_due();
}

void order_take_turn(void)
{
    struct reservation *reservation;
    struct request *request;
    while ((reservation = waiters_next()) != NULL)
        reservation_queue(reservation);
    if (spare_is_due())
        spare_share_out();
    for (int taken = 0; taken < TURN_RESERVATIONS && (request = turn_next()) != NULL; taken++)
        advance(request, ASK);
    for (int taken = 0; taken < TURN_RESERVATIONS && (reservation = turns_next()) != NULL; taken++)
        reservation_examine(reservation);
}

/* Its file goes, unless its owner has written it anew meanwhile; without that it is released. */
static void lease_is_over(struct reservation *reservation)
{
    char reason[REASON_BYTES];
    const uint64_t expires = reservation->grant == NULL ? 0 : reservation->grant->spec.expires;
    snprintf(reason, sizeof reason, "nobody has written it anew: it ends");
    if (expires != 0)
        snprintf(reason, sizeof reason, "it was not renewed within %lluus: it ends", (unsigned long long)expires);
    struct event event = {.stage = "spec", .user = reservation->user, .name = reservation->name, .decision = "ended", .reason = reason,
                          .plugin = grant_plugin_name(reservation->grant), .token = reservation->token, .microseconds = -1};
    event_write(&event);
    reservation->state = RESERVATION_ENDING;
    reader_remove(reservation->user, reservation->name, "json", &reservation->judged);
}

static bool is_to_be_applied_again(const struct reservation *reservation)
{
    return reservation->recovery != NULL || reservation->raises || (reservation->attachment != NULL && attachment_is_to_be_applied(reservation->attachment));
}

/* A digest tells only where the times of files do not. */
static bool is_another(const struct file *file, const struct stamp *judged)
{
    return !stamp_equal(&file->stamp, judged) || (judged->fresh && file->state == FILE_READ && file->stamp.digest != judged->digest);
}

/* Nothing follows for its reader. */
static void end_sighting(struct reservation *reservation)
{
    if (reservation->sighting != NULL)
        reader_done(reservation->user, reservation->name);
    reservation_sighting_end(reservation);
}

/* After an answer: what is news is told by the reader without being asked. */
static void examine_grant(struct reservation *reservation)
{
    if (reservation->sighting != NULL || (reservation->news & NEWS_OF_THREAD) != 0 || is_to_be_applied_again(reservation) ||
        ((reservation->news & NEWS_OF_FILES) != 0 && reservation->expected == EXPECT_NOTHING))
        reservation_queue(reservation);
    else
        forget_if_empty(reservation);
}

/* A NAME.tid that came with a spec has its turn after it. */
static bool has_more(const struct reservation *reservation, enum kind answered)
{
    return reservation->sighting != NULL && answered != ATTACH && answered != DETACH && reservation->state != RESERVATION_OVER_LIMIT &&
           is_another(&reservation->sighting->tid, &reservation->judged_tid);
}

/* Refused, but not for good, and its owner has time. */
static bool is_to_wait(const struct request *request)
{
    const struct outcome *outcome = &request->outcome;
    return request->has_spec && request->spec.waits && !outcome->dry_run && !outcome->refusal.never &&
           (outcome->result == SCHEDULE_FAIL || outcome->result == ACL_FAIL) && outcome->kind != UPDATE;
}

static void settle_waiting(struct request *request)
{
    struct reservation *reservation = request->reservation;
    if (is_to_wait(request)) {
        request->outcome.result = RESULT_WAITING;
        reservation->waits_for = request->outcome.refusal.code;
        waiters_add(reservation, reservation->waits != 0 ? reservation->waits : boottime_now());
    } else if (request->json.state != FILE_ABSENT && request->outcome.kind != ATTACH && request->outcome.kind != DETACH)
        waiters_leave(reservation);
}

/* It waits for the same as before, as its verdict says: how often it was asked meanwhile is others' doing. */
static bool was_in_vain(const struct request *request)
{
    const struct reservation *reservation = request->reservation;
    return reservation->is_asked_again && is_to_wait(request) && request->outcome.refusal.code == reservation->waits_for &&
           !is_another(&request->json, &reservation->judged) && !has_more(reservation, request->outcome.kind);
}

static void tell_answer(struct request *request)
{
    struct reservation *reservation = request->reservation;
    (void)request_record(request);
    const bool more = has_more(reservation, request->outcome.kind);
    verdict_tell(reservation, &request->outcome, (monotonic_now() - request->started) / 1000, reservation->sighting != NULL, more);
    if (!more)
        reservation_sighting_end(reservation); /* the verdict is the last that its reader hears of it */
}

static void answer(struct request *request)
{
    struct reservation *reservation = request->reservation;
    const bool in_vain = was_in_vain(request) || (request->for_more && !spare_is_news(request));
    const bool over_limit = reservation->state == RESERVATION_OVER_LIMIT && (reservation->news & NEWS_OF_FILES) == 0 && reservation->grant == NULL &&
                            reservation->attachment == NULL;
    /* A reservation whose thread could not be attached, and that would end with it, must not hold anything. */
    const bool revoked = request->outcome.kind == UPDATE && request->outcome.result == ACL_FAIL && !request->for_more;
    if (reservation->grant != NULL && reservation->attachment == NULL && (revoked || (request->outcome.result == ATTACH_FAIL && reservation->grant->spec.lifetime_thread))) {
        grant_unbook(reservation, true);
        request->recorded = false;
    }
    shares_follow(reservation);
    settle_waiting(request);
    if (in_vain) {
        (void)request_record(request);
        end_sighting(reservation);
    } else
        tell_answer(request);
    request_drop(request);
    if (over_limit && reservation->expected == EXPECT_NOTHING)
        reservation_forget(reservation);
    else
        examine_grant(reservation);
}

/* A directory that was moved away and back comes as a new one, and may have asked for the thread while the old
 * reservation still had it. */
static void tell_successor(const struct reservation *reservation)
{
    struct user *user = user_find(reservation->user->name);
    struct reservation *successor = user == NULL ? NULL : reservation_find(user, reservation->name, false);
    if (successor == NULL || successor->attachment != NULL)
        return;
    successor->judged_tid = (struct stamp){0};
    if (successor->grant != NULL && successor->grant->spec.attach != 0)
        successor->judged = (struct stamp){0};
    reservation_queue(successor);
}

static void released(struct request *request)
{
    struct reservation *reservation = request->reservation;
    struct event event = {.stage = "release", .user = reservation->user, .name = reservation->name, .request = kind_name(RELEASE), .decision = "ok",
                          .plugin = grant_plugin_name(reservation->grant), .token = reservation->token,
                          .microseconds = (monotonic_now() - request->started) / 1000, .grant = verdict_grant(reservation->grant)};
    grant_unbook(reservation, true);
    shares_follow(reservation);
    reader_remove(reservation->user, reservation->name, "verdict", NULL);
    if (reservation->judged_tid.inode != 0 && reservation->sighting != NULL && reservation->sighting->tid.state != FILE_ABSENT && reservation->user->state != DIRECTORY_GONE) {
        reservation->leaving_tid = reservation->judged_tid;
        reader_remove(reservation->user, reservation->name, "tid", &reservation->leaving_tid); /* whoever removes it, that will be told */
        readers_flush(); /* once this is written down as released, nobody would know whose that file was */
    }
    (void)state_gone(reservation); /* last: a crash before it releases once more */
    if (reservation->leaving_tid.inode == 0) /* else it is kept in mind until then, and must not be one too many */
        reservation_uncount(reservation);
    event_write(&event);
    json_decref(event.grant);
    if (reservation->user->state == DIRECTORY_GONE)
        tell_successor(reservation);
    waiters_leave(reservation);
    reservation->judged = reservation->judged_tid = (struct stamp){0};
    free(reservation->token);
    reservation->token = NULL;
    if (reservation->state == RESERVATION_ENDING)
        reservation->state = RESERVATION_OPEN;
    request_drop(request);
    end_sighting(reservation);
    examine_grant(reservation);
}

/* Until what others have used is paid back, which can take some seconds. Whoever does not wait so long is to know why. */
static void tell_waiting(struct request *request)
{
    const int64_t long_enough = 100000000; /* ns */
    const struct outcome kept = request->outcome;
    if (request->has_said_so || request->reservation->is_asked_again || request->step != STEP_ZERO_LAG || request->then != ASK || request->zero_lag.at < monotonic_now() + long_enough)
        return;
    request->has_said_so = true;
    request_take_token(request);
    refusal_say(request, RESOURCE_CPU);
    request->outcome.result = RESULT_WAITING;
    verdict_tell(request->reservation, &request->outcome, -1, false, false);
    request->outcome = kept;
}

/* Does what a stage wants next, until an answer has to be waited for. */
static void advance(struct request *request, enum next next)
{
    while (next == ASK || next == ENFORCE || next == DETACH_ON)
        next = next == ASK ? ask_next(request) : next == ENFORCE ? enforce(request) : detach_on(request);
    if (next == WAIT)
        tell_waiting(request);
    if (next == ANSWER)
        answer(request);
    else if (next == RELEASED)
        released(request);
    else if (next == LOOK_AGAIN) {
        struct reservation *reservation = request->reservation;
        request_drop(request);
        end_sighting(reservation);
        reservation_queue(reservation);
    }
}

/* ---- answers ---- */

void order_plugin_event(int plugin, const struct plugin_event *event)
{
    struct request *request;
    enum step step;
    switch (event->kind) {
    case PLUGIN_UP:
        moves_feed(plugin);
        waiters_kick();
        break;
    case PLUGIN_UPDATE:
        moves_take(plugin, event);
        break;
    case PLUGIN_ANSWER:
        request = take_waiting_for_plugin(event->id, &step);
        if (request != NULL) /* for release and load nobody waits */
            advance(request, plugin_answered(request, step, event));
        break;
    }
}

void order_keeper_event(const struct helper_event *event)
{
    enum step step;
    struct request *request = take_waiting_for_helper(event->id, &step);
    if (request != NULL)
        advance(request, helper_answered(request, step, event));
    else if (event->answer == HELPER_NO)
        event_broker("error", "%.400s", event->reason);
}

void order_helper_event(const struct helper_event *event)
{
    enum step step;
    struct request *request = take_waiting_for_helper(event->id, &step);
    if (request != NULL)
        advance(request, helper_answered(request, step, event));
    else
        threads_adjusted(event);
}

/* ---- what the files ask for ---- */

static bool draining;

/* What an earlier broker had granted is asked anew after a change of plugins.conf, and is nothing new. */
static bool is_drained_away(const struct request *request)
{
    return draining && request->outcome.kind != RECOVER;
}

void order_drain(bool begin)
{
    if (begin != draining)
        event_broker(begin ? "warning" : "ok", begin ? "draining: new specs and changes are refused" : "draining is over: new specs and changes are served again");
    draining = begin;
    if (!begin)
        waiters_kick();
}

static void say_no_member(struct request *request)
{
    say(request, ACL_FAIL, "uid %u is not a member of the spool's group %u, and acl.conf does not name it", request->reservation->user->uid, spool.group);
    blame(request, "access", WHY_NOT_A_MEMBER, true);
}

static void begin_asking(struct request *request)
{
    struct refusal *refusal = &request->outcome.refusal;
    char reason[REASON_BYTES];
    request->outcome.judged = &request->spec;
    request->claim = request->spec.claims;
    if (request->spec.importance == 0 || acl_importance_passes(rules, request->reservation->user->account, request->spec.importance, refusal, reason)) {
        advance(request, ASK);
        return;
    }
    say(request, ACL_FAIL, "%s", reason);
    request_event(request, "acl", "refused", -1, reason);
    advance(request, ANSWER);
}

static void judge_identity(struct request *request)
{
    struct account *account = request->reservation->user->account;
    if (is_drained_away(request)) {
        say(request, ACL_FAIL, "the administrator lets nothing new begin here: %s/draining", spool.path);
        blame(request, "broker", WHY_DRAINING, false);
        advance(request, ANSWER);
    } else if (account->state == ACCOUNT_FAILED) {
        say(request, ACL_FAIL, "the account database did not answer for uid %u", account->uid);
        blame(request, "access", WHY_NO_ACCOUNT, false);
        advance(request, ANSWER);
    } else if (!owner_may_have_something(account)) {
        say_no_member(request);
        advance(request, ANSWER);
    } else {
        begin_asking(request);
    }
}

static void identify(struct request *request)
{
    struct account *account = request->reservation->user->account;
    if (account_ready(account)) {
        judge_identity(request);
        return;
    }
    request->step = STEP_ACCOUNT;
    TAILQ_INSERT_TAIL(&account->waiting, request, of_account);
}

/* The file stays, and is looked at once more: he may be back. */
static void revoke(struct reservation *reservation)
{
    end_sighting(reservation);
    struct request *request = request_begin(reservation, UPDATE);
    say_no_member(request);
    reservation->state = RESERVATION_OPEN;
    reservation->news |= NEWS_OF_FILES;
    advance(request, reservation->attachment != NULL ? detach(request) : ANSWER);
}

void order_account_known(struct account *account)
{
    struct request *request;
    owner_is_known(account);
    while ((request = TAILQ_FIRST(&account->waiting)) != NULL) {
        TAILQ_REMOVE(&account->waiting, request, of_account);
        request->step = STEP_NOTHING;
        judge_identity(request);
    }
}

/* Whoever rewrites a spec means its parameters: the thread stays, unless the spec says otherwise, or NAME.tid names one. */
static bool keeps_its_thread(const struct reservation *reservation, const struct spec *spec)
{
    const struct attachment *attachment = reservation->attachment;
    return attachment != NULL && reservation->grant != NULL && !attachment_is_over(attachment) && spec->attach == 0 && !spec->attach_none && !spec->dry_run &&
           (attachment->by_file || (reservation->sighting->tid.state == FILE_ABSENT && spec_claims_cpu(spec)));
}

static void keep_thread(const struct reservation *reservation, struct spec *spec)
{
    if (!keeps_its_thread(reservation, spec))
        return;
    if (!reservation->attachment->by_file) {
        spec->attach = reservation->attachment->tid;
        spec->attach_kept = true;
    }
    spec->lifetime_thread |= reservation->grant->spec.lifetime_thread && !spec->lifetime_spec;
}

/* The attach helper goes by who owns the open file, which its reader passes on only where it knows of a thread. */
static bool lacks_open_file(const struct reservation *reservation)
{
    return reservation->sighting->json.state == FILE_READ && reservation->json.fd < 0 && keeps_its_thread(reservation, &reservation->sighting->spec);
}

/* From here on NAME.tid says which thread, also of the one that an earlier spec has named. */
static void leave_to_file(const struct reservation *reservation, pid_t thread)
{
    reservation->grant->spec.attach = 0;
    reservation->grant->spec.attach_kept = false;
    if (reservation->attachment != NULL && reservation->attachment->tid == thread)
        reservation->attachment->by_file = true;
}

static void judge_json(struct reservation *reservation)
{
    struct sighting *sighting = reservation->sighting;
    struct request *request = request_begin(reservation, reservation->state == RESERVATION_RECOVERED ? RECOVER : reservation->grant != NULL ? CHANGE : CREATE);
    if (reservation->state != RESERVATION_OVER_LIMIT)
        reservation->state = RESERVATION_OPEN;
    request->json = sighting->json;
    request->spec = sighting->spec; /* of one that is wrong it has the token */
    sighting->spec = (struct spec){0};
    request->outcome.dry_run = request->json.state != FILE_BAD && request->spec.dry_run;
    reservation_count(reservation);
    if (reservation->state == RESERVATION_OVER_LIMIT) {
        say(request, ACL_FAIL, "you have %d specs already, the most that a user may have here", max_specs);
        blame(request, "broker", WHY_TOO_MANY_SPECS, false);
    } else if (request->json.state == FILE_BAD)
        say(request, BAD_SPEC, "%s", request->json.reason);
    else {
        request->has_spec = true;
        keep_thread(reservation, &request->spec);
        if (request->spec.waits && waits_behind(reservation) != NULL) {
            say(request, SCHEDULE_FAIL, "%s came before, and waits for room", waits_behind(reservation)->name);
            blame(request, "broker", WHY_BEHIND, false);
            advance(request, ANSWER);
            return;
        }
        if (request->spec.attach == 0 || sighting->tid.state == FILE_ABSENT) {
            identify(request);
            return;
        }
        say(request, BAD_SPEC, "%s.json: key \"attach\" and the file %s.tid both name a thread; one of them must go", reservation->name, reservation->name);
    }
    if (reservation->state != RESERVATION_OVER_LIMIT) {
        blame(request, "spec", WHY_BAD_SPEC, true);
        request_event(request, "spec", "refused", -1, request->outcome.reason);
    }
    advance(request, ANSWER);
}

static void judge_tid(struct reservation *reservation)
{
    const struct sighting *sighting = reservation->sighting;
    struct request *request = request_begin(reservation, sighting->tid.state == FILE_ABSENT ? DETACH : ATTACH);
    reservation_count(reservation);
    request->json = sighting->json;
    request->tid = sighting->tid;
    if (request->outcome.kind == DETACH) {
        say(request, RESULT_OK, "detached");
        if (reservation->attachment != NULL && reservation->attachment->by_file)
            say(request, RESULT_OK, "thread %d is let go", (int)reservation->attachment->tid);
        if (reservation->attachment != NULL && !reservation->attachment->by_file)
            say(request, RESULT_OK, "%s.tid is gone; thread %d stays attached by the key \"attach\"", reservation->name, (int)reservation->attachment->tid);
        advance(request, reservation->attachment != NULL && reservation->attachment->by_file ? detach(request) : ANSWER);
        return;
    }
    if (request->tid.state == FILE_BAD)
        say(request, BAD_SPEC, "%s", request->tid.reason);
    else if (request->json.state == FILE_ABSENT)
        say(request, ATTACH_FAIL, "there is no %s.json beside %s.tid", reservation->name, reservation->name);
    else if (reservation->grant == NULL)
        say(request, ATTACH_FAIL, "%s.json has no grant to attach a thread to", reservation->name);
    else if (!grant_schedules(reservation->grant) && !shares_are_in(reservation->grant))
        say(request, ATTACH_FAIL, "%s.json claims no CPU time that a thread could be attached to", reservation->name);
    else if (reservation->grant->spec.attach != 0 && !reservation->grant->spec.attach_kept)
        say(request, BAD_SPEC, "%s.json: key \"attach\" and the file %s.tid both name a thread; one of them must go", reservation->name, reservation->name);
    else {
        if (reservation->grant->spec.attach_kept)
            leave_to_file(reservation, sighting->thread);
        request->spec.attach = sighting->thread;
        say(request, RESULT_OK, "thread %d is attached", (int)sighting->thread);
        advance(request, ENFORCE);
        return;
    }
    const bool bad = request->outcome.result == BAD_SPEC, has_grant = request->json.state != FILE_ABSENT && reservation->grant != NULL;
    blame(request, bad ? "spec" : "broker", bad ? WHY_BAD_SPEC : has_grant ? WHY_NO_CPU_CLAIM : WHY_NO_GRANT, true);
    request_event(request, bad ? "spec" : "attach", "refused", -1, request->outcome.reason);
    advance(request, ANSWER);
}

static void begin_release(struct reservation *reservation)
{
    struct request *request = request_begin(reservation, RELEASE);
    if (reservation->attachment != NULL)
        advance(request, detach(request));
    else
        advance(request, RELEASED);
}

static void apply_again(struct reservation *reservation)
{
    const struct recovery recovery = reservation->recovery == NULL ? (struct recovery){.kind = UPDATE} : *reservation->recovery;
    struct request *request = request_begin(reservation, recovery.kind);
    pid_t tid = reservation->attachment->tid;
    request->json = reservation->sighting->json;
    if (reservation->recovery != NULL)
        say(request, RESULT_OK, "%s", recovery.reason);
    else
        say(request, RESULT_OK, "thread %d has woken and is attached", (int)tid);
    free(reservation->recovery);
    reservation->recovery = NULL;
    reservation->attachment->state = attachment_is_pending(reservation->attachment) ? ATTACHMENT_ASLEEP : ATTACHMENT_IN_FORCE;
    (void)reservation_record(reservation);
    (void)wait_for_helper(request, STEP_APPLY, attach_apply(reservation->attachment, reservation->grant, reservation->json.fd));
}

/* There is room for more of what it desires than it has. */
static void ask_for_more(struct reservation *reservation)
{
    struct request *request = request_begin(reservation, UPDATE);
    reservation->raises = false;
    request->json = reservation->sighting->json;
    spare_ask_for_more(request);
    advance(request, ASK);
}

void order_recover(struct reservation *reservation, enum kind kind, const char *reason)
{
    if (reservation->recovery == NULL)
        reservation->recovery = allocate(sizeof *reservation->recovery);
    reservation->recovery->kind = kind;
    snprintf(reservation->recovery->reason, sizeof reservation->recovery->reason, "%s", reason);
    reservation_queue(reservation);
}

static void ask(struct reservation *reservation, bool whole)
{
    if (reservation->expected == EXPECT_ANSWER || (reservation->expected == EXPECT_NEWS && !whole))
        return;
    reservation->expected = EXPECT_ANSWER;
    reader_look(reservation->user, reservation->name, whole);
}

/* Its reader has it told, or is asked to; of a directory that is gone nothing is there. False: there will be an answer. */
static bool has_sighting(struct reservation *reservation)
{
    if (reservation->sighting == NULL && reservation->user->state == DIRECTORY_GONE)
        reservation->sighting = allocate(sizeof *reservation->sighting);
    if (reservation->sighting == NULL)
        ask(reservation, is_to_be_applied_again(reservation) || reservation->is_asked_again);
    return reservation->sighting != NULL;
}

/* Only with its content, or its open file, can it go on. */
static void ask_for_whole(struct reservation *reservation)
{
    end_sighting(reservation);
    ask(reservation, true);
}

/* Whose NAME.json is; or may be, if it is looked at once more. What is no file of his has nothing to be opened. */
static bool shows_owner(const struct reservation *reservation)
{
    const enum file_state state = reservation->sighting->json.state;
    return reservation->json.fd >= 0 || state == FILE_READ || state == FILE_SAME;
}

/* What is in its files that has had no answer. True: that is under way. */
static bool judge(struct reservation *reservation)
{
    struct sighting *sighting = reservation->sighting;
    if (sighting->tid.state != FILE_ABSENT && stamp_equal(&sighting->tid.stamp, &reservation->leaving_tid))
        sighting->tid = (struct file){.state = FILE_ABSENT};
    else
        reservation->leaving_tid = (struct stamp){0}; /* it has gone */
    const bool is_there = sighting->json.state != FILE_ABSENT;
    if (!is_there && reservation->judged.inode != 0)
        begin_release(reservation);
    else if (is_there && (reservation->is_asked_again || is_another(&sighting->json, &reservation->judged))) {
        if (sighting->json.state != FILE_SAME && !lacks_open_file(reservation))
            judge_json(reservation);
        else
            ask_for_whole(reservation);
    } else if (is_another(&sighting->tid, &reservation->judged_tid))
        judge_tid(reservation);
    else if (reservation->raises && reservation->grant != NULL && shows_owner(reservation) && (reservation->attachment == NULL || reservation->json.fd >= 0))
        ask_for_more(reservation);
    else if (!is_to_be_applied_again(reservation) || reservation->grant == NULL || reservation->attachment == NULL || !shows_owner(reservation))
        return false;
    else if (reservation->json.fd >= 0 && !reservation->raises)
        apply_again(reservation);
    else
        ask_for_whole(reservation);
    return true;
}

void reservation_examine(struct reservation *reservation)
{
    if (reservation->request != NULL) {
        if (!waiting_cancel(reservation->request)) {
            reservation->news |= NEWS_OF_FILES;
            return;
        }
        end_sighting(reservation);
    }
    if ((reservation->news & NEWS_OF_THREAD) != 0)
        threads_look(reservation);
    if (reservation->state == RESERVATION_REVOKED && reservation->grant != NULL) {
        revoke(reservation);
        return;
    }
    if (reservation->state == RESERVATION_OVER_LIMIT && reservation->user->scan != NULL)
        return; /* how many he has is just being looked at, and this one's turn comes after that */
    if (!has_sighting(reservation) || judge(reservation))
        return;
    reservation->news &= ~NEWS_OF_FILES;
    reservation->raises = false;
    free(reservation->recovery); /* there is nothing to be made again */
    reservation->recovery = NULL;
    end_sighting(reservation);
    forget_if_empty(reservation);
}

/* ---- what readers tell ---- */

/* It is the user's own, and on the spool's file system, where looking at it waits for nobody: the attach helper goes by its owner. */
static bool is_own_file(const struct user *user, int fd)
{
    struct statx specs, file;
    return statx(spool.specs, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &specs) == 0 &&
           statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_UID | STATX_TYPE | STATX_MNT_ID, &file) == 0 && S_ISREG(file.stx_mode) &&
           file.stx_uid == user->uid && file.stx_mnt_id == specs.stx_mnt_id;
}

static void refuse_files(struct user *user, struct sighting *sighting, struct open_file *json, const char *why)
{
    spec_free(&sighting->spec);
    open_file_close(user, json);
    reader_fail(user, why);
}

void order_files(struct user *user, const char *name, struct sighting *sighting, struct open_file json)
{
    struct reservation *reservation = reservation_find(user, name, true);
    if (reservation->request != NULL || reservation->sighting != NULL) {
        refuse_files(user, sighting, &json, "its reader tells the same twice");
        return;
    }
    if (json.fd >= 0 && !is_own_file(user, json.fd)) {
        refuse_files(user, sighting, &json, "its reader passes a file that is not its user's");
        return;
    }
    reservation->sighting = allocate(sizeof *reservation->sighting);
    *reservation->sighting = *sighting;
    reservation->json = json;
    reservation->expected = EXPECT_NOTHING;
    reservation_queue(reservation);
}

void order_news(struct user *user, const char *name)
{
    struct reservation *reservation = reservation_find(user, name, false);
    if (reservation == NULL || reservation->sighting == NULL)
        return;
    reservation->expected = EXPECT_NEWS;
    if (reservation->request != NULL)
        reservation_examine(reservation);
}

void order_unwritten(struct user *user, const char *name, const char *request, const char *reason)
{
    const struct event event = {.stage = "verdict", .user = user, .name = name, .request = request, .decision = "error", .reason = reason, .microseconds = -1};
    event_write(&event);
}

void order_odd(struct user *user, const char *name)
{
    report_found(user, name, "ignored", "a name is [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} with .json or .tid behind it");
}

void order_overflow(struct user *user)
{
    report_found(user, user->name, "warning", "events were lost: everything in this directory is looked at again");
}

void order_reader_lost(struct user *user, const char *why)
{
    report_found(user, user->name, "error", why);
    scan_forget(user);
    for (struct reservation *reservation = user->reservations; reservation != NULL; reservation = reservation->hh.next) {
        const bool waited = reservation->expected != EXPECT_NOTHING || reservation->sighting != NULL || reservation->leaving_tid.inode != 0;
        reservation->expected = EXPECT_NOTHING;
        if (reservation->request == NULL)
            reservation_sighting_end(reservation);
        if (reservation->state == RESERVATION_ENDING)
            reader_remove(user, reservation->name, "json", &reservation->judged);
        if (reservation->leaving_tid.inode != 0)
            reader_remove(user, reservation->name, "tid", &reservation->leaving_tid);
        if (waited)
            reservation_queue(reservation);
    }
}
