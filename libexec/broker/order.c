#include "order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asking.h"
#include "enforcing.h"
#include "event.h"
#include "files.h"
#include "ledger.h"
#include "names.h"
#include "noticing.h"
#include "request.h"
#include "rest.h"
#include "spec.h"
#include "spool.h"
#include "state.h"
#include "threads.h"
#include "turns.h"
#include "verdict.h"
#include "wishes.h"

/* A verdict that could not be written, to be tried again. */
struct owed {
    TAILQ_ENTRY(owed) next;
    uint64_t task;
    struct outcome outcome;
};
static TAILQ_HEAD(, owed) owed_verdicts = TAILQ_HEAD_INITIALIZER(owed_verdicts);
static int64_t retry_at = INT64_MAX;
static const int64_t retry_after = INT64_C(1000000000);

enum { TURN_WISHES = 32 };

/* ---- verdicts ---- */

static void owe(const struct wish *wish, const struct outcome *outcome)
{
    struct owed *owed = allocate(sizeof *owed);
    owed->task = wish->task;
    owed->outcome = *outcome;
    owed->outcome.replies = NULL; /* the reasons are told once; what holds is told as long as it takes */
    owed->outcome.reply_count = 0;
    TAILQ_INSERT_TAIL(&owed_verdicts, owed, next);
    if (retry_at == INT64_MAX)
        retry_at = monotonic_now() + retry_after;
}

/* What was owed is superseded by what is told now. */
static void forget_owed(uint64_t task)
{
    struct owed *owed, *next;
    for (owed = TAILQ_FIRST(&owed_verdicts); owed != NULL; owed = next) {
        next = TAILQ_NEXT(owed, next);
        if (owed->task == task) {
            TAILQ_REMOVE(&owed_verdicts, owed, next);
            free(owed);
        }
    }
}

static void tell(struct wish *wish, const struct outcome *outcome, int64_t microseconds)
{
    forget_owed(wish->task);
    bool written = verdict_write(wish, outcome);
    int error = errno;
    struct event event = {.stage = "verdict", .user = wish->user, .name = wish->name, .request = kind_name(outcome->kind),
                          .decision = outcome->result == RESULT_OK ? "ok" : "refused", .reason = outcome->reason,
                          .plugin = wish->grant == NULL ? NULL : plugin_line(wish->grant->plugin)->name,
                          .tid = wish->attachment == NULL ? 0 : wish->attachment->tid,
                          .token = wish->token, .microseconds = microseconds};
    event_write(&event);
    if (written || wish->user->gone)
        return;
    event.decision = "error";
    event.reason = strerror(error);
    event_write(&event);
    owe(wish, outcome);
}

void answer_again(struct wish *wish, enum kind kind, const char *reason)
{
    struct outcome outcome = {.kind = kind};
    snprintf(outcome.reason, sizeof outcome.reason, "%s", reason);
    tell(wish, &outcome, -1);
}

int64_t order_deadline(void)
{
    int64_t deadline = rest_deadline() < retry_at ? rest_deadline() : retry_at;
    return threads_deadline() < deadline ? threads_deadline() : deadline;
}

static void advance(struct request *request, enum next next);

static void end_rests(int64_t now)
{
    struct request *request;
    rest_expire(now);
    while ((request = rest_over(now)) != NULL)
        advance(request, request->rested == ASK ? ask_again(request) : request->rested);
}

void order_expire(int64_t now)
{
    threads_expire(now);
    end_rests(now);
    if (now < retry_at)
        return;
    struct owed *owed, *next;
    retry_at = INT64_MAX;
    for (owed = TAILQ_FIRST(&owed_verdicts); owed != NULL; owed = next) {
        struct wish *wish = wish_of_task(owed->task);
        next = TAILQ_NEXT(owed, next);
        if (wish != NULL && wish->request == NULL && !wish->user->gone) {
            if (!verdict_write(wish, &owed->outcome)) {
                retry_at = now + retry_after;
                continue; /* one user's full quota is not another's */
            }
            spool_touch(wish->user, wish->name);
        }
        TAILQ_REMOVE(&owed_verdicts, owed, next);
        free(owed);
    }
}

static bool nothing_is_left(const struct wish *wish)
{
    return wish->judged.inode == 0 && wish->judged_tid.inode == 0 && wish->grant == NULL && wish->attachment == NULL && wish->awaited == NULL;
}

static void forget_if_empty(struct wish *wish)
{
    struct user *user = wish->user;
    if (!nothing_is_left(wish))
        return;
    spool_remove(user, wish->name, ".verdict", NULL); /* of a wish that was not kept in mind */
    wish_forget(wish);
    if (user->gone && user->wishes == NULL)
        spool_user_close(user);
}

void wish_queue(struct wish *wish)
{
    turns_add(wish, &user_bucket(wish->user)->line);
}

bool order_has_queue(void)
{
    return turns_are_due() || turn_is_due();
}

void order_take_turn(int64_t until)
{
    struct wish *wish;
    struct request *request;
    for (int taken = 0; taken < TURN_WISHES && (request = turn_next()) != NULL; taken++)
        advance(request, ASK);
    for (int taken = 0; (taken < TURN_WISHES || monotonic_now() < until) && (wish = turns_next()) != NULL; taken++)
        wish_examine(wish);
}

static bool is_to_be_applied_again(const struct wish *wish)
{
    return wish->attachment != NULL && (wish->attachment->awake || wish->attachment->replaced);
}

static bool is_still(const struct wish *wish, const char *ending, const struct stamp *judged)
{
    const struct stamp now = spool_stamp(wish->user, wish->name, ending, NULL);
    return stamp_equal(&now, judged);
}

static bool is_known_to_have_tid(const struct wish *wish)
{
    return wish->has_tid || wish->judged_tid.inode != 0;
}

/* After an answer: mostly nothing has happened meanwhile, and then the owner's file is not opened again, for its
 * closing would wake him for nothing. A NAME.tid that came with a wish has its turn after it. */
static void examine_rest(struct wish *wish, enum kind answered)
{
    bool missed = !spool_user_is_followed(wish->user);
    bool has_tid = is_known_to_have_tid(wish) && answered != ATTACH && answered != DETACH;
    bool news = wish->dirty || wish->exited || wish->linked || is_to_be_applied_again(wish) || (missed && !is_still(wish, ".json", &wish->judged)) ||
                ((missed || has_tid) && !is_still(wish, ".tid", &wish->judged_tid));
    if (news)
        wish_queue(wish);
    else
        forget_if_empty(wish);
}

/* Wishes of the same file that were judged when it had no second name: nothing watches it for that. */
static void queue_links(struct user *user, uint64_t inode)
{
    struct wish *wish;
    while ((wish = wish_unlinked(user, inode)) != NULL) {
        wish_judged(wish, wish->judged, true);
        wish_queue(wish);
    }
}

static void answer(struct request *request)
{
    struct wish *wish = request->wish;
    bool over_limit = wish->over_limit && !wish->dirty && wish->grant == NULL && wish->attachment == NULL, linked = request->json.linked && !wish->user->gone;
    struct user *user = wish->user;
    uint64_t inode = request->json.stamp.inode;
    enum kind kind = request->outcome.kind;
    /* A wish whose thread could not be attached, and that would end with it, must not hold anything. */
    if (request->outcome.result == ATTACH_FAIL && wish->grant != NULL && wish->grant->spec.lifetime_thread && wish->attachment == NULL) {
        grant_unbook(wish, true);
        request->recorded = false;
    }
    (void)request_record(request);
    tell(wish, &request->outcome, (monotonic_now() - request->started) / 1000);
    request_drop(request);
    if (linked) /* before the wish, and with it perhaps its user, is forgotten */
        queue_links(user, inode);
    if (over_limit)
        wish_forget(wish);
    else
        examine_rest(wish, kind);
}

/* A directory that was moved away and back comes as a new one, and may have asked for the thread while the old
 * wish still had it. */
static void tell_successor(const struct wish *wish)
{
    struct user *user = spool_user_find(wish->user->name);
    struct wish *successor = user == NULL ? NULL : wish_find(user, wish->name, false);
    if (successor == NULL || successor->attachment != NULL)
        return;
    successor->judged_tid = (struct stamp){0};
    successor->has_tid = true;
    if (successor->grant != NULL && successor->grant->spec.attach != 0)
        wish_judged(successor, (struct stamp){0}, successor->linked);
    wish_queue(successor);
}

static void released(struct request *request)
{
    struct wish *wish = request->wish;
    struct event event = {.stage = "release", .user = wish->user, .name = wish->name, .request = kind_name(RELEASE), .decision = "ok",
                          .plugin = wish->grant == NULL ? NULL : plugin_line(wish->grant->plugin)->name,
                          .token = wish->token,
                          .microseconds = (monotonic_now() - request->started) / 1000};
    grant_unbook(wish, true);
    forget_owed(wish->task);
    if (wish->judged_tid.inode != 0)
        spool_remove(wish->user, wish->name, ".tid", &wish->judged_tid);
    spool_remove(wish->user, wish->name, ".verdict", NULL);
    (void)state_gone(wish); /* last: a crash before it releases once more */
    wish_uncount(wish);
    event_write(&event);
    if (wish->user->gone)
        tell_successor(wish);
    wish_judged(wish, (struct stamp){0}, false);
    wish->judged_tid = (struct stamp){0};
    free(wish->token);
    wish->token = NULL;
    spool_forget_busy(wish);
    request_drop(request);
    wish_queue(wish);
}

/* Does what a stage wants next, until an answer has to be waited for. */
static void advance(struct request *request, enum next next)
{
    while (next == ASK || next == ENFORCE || next == DETACH_ON)
        next = next == ASK ? ask_next(request) : next == ENFORCE ? enforce(request) : detach_on(request);
    if (next == ANSWER)
        answer(request);
    else if (next == RELEASED)
        released(request);
    else if (next == LOOK_AGAIN) {
        struct wish *wish = request->wish;
        request_drop(request);
        wish_queue(wish);
    }
}

/* ---- answers ---- */

/* A plugin that was restarted hears all that it had scheduled, and its neighbours' tasks. */
static void feed(int plugin)
{
    for (struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next) {
        if (wish->grant != NULL)
            feed_one(plugin, wish->task, wish->grant);
    }
    rest_feed(plugin);
}

/* Each move has to fit when it is said: a plugin that wants to swap two tasks goes by a CPU that has room. */
static bool update_is_its_own(int plugin, const struct grant *grant, const struct plugin_event *event)
{
    const struct plugin_line *line = plugin_line(plugin);
    char reason[REASON_BYTES];
    if (grant == NULL || grant->plugin != plugin)
        return false;
    if (event->has_priority && (event->plan.priority < line->lowest || event->plan.priority > line->highest))
        return false;
    struct grant moved = *grant;
    if (event->has_cpus)
        moved.plan.cpus = event->plan.cpus;
    if (event->has_priority)
        moved.plan.priority = event->plan.priority;
    return plan_is_its_own(plugin, &moved.spec, UINT64_MAX, &moved.plan, reason) &&
           (!event->has_cpus || ledger_fits(&moved, grant, reason));
}

static void move(struct grant *grant, const struct plugin_event *event)
{
    struct grant before = *grant;
    ledger_remove(grant);
    if (event->has_cpus)
        grant->plan.cpus = event->plan.cpus;
    if (event->has_priority)
        grant->plan.priority = event->plan.priority;
    ledger_add(grant);
    if (event->has_cpus)
        tell_neighbours(event->task, &before, grant);
}

static void update(int plugin, const struct plugin_event *event)
{
    struct wish *wish = wish_of_task(event->task);
    struct grant *grant = wish == NULL ? rest_grant(event->task) : wish->grant;
    if (!update_is_its_own(plugin, grant, event)) {
        if (!plugin_is_releasing(plugin, event->task))
            plugin_fail(plugin, "it moves a task, or to a CPU or priority, that is not its own");
        return;
    }
    move(grant, event);
    if (wish == NULL)
        return;
    (void)wish_record(wish);
    /* A level that moved to keep an order is no news to an owner who never asked for one. */
    bool news = wish->request == NULL && (event->has_cpus || wish->grant->spec.priority != 0);
    if (wish->attachment == NULL) {
        if (news)
            answer_again(wish, UPDATE, "the plugin moved it to make room");
        return;
    }
    if (is_being_detached(wish))
        return;
    threads_expect(wish, helper_adjust(wish->attachment, wish->grant), news);
}

void order_plugin_event(int plugin, const struct plugin_event *event)
{
    struct request *request;
    switch (event->kind) {
    case PLUGIN_UP:
        feed(plugin);
        break;
    case PLUGIN_UPDATE:
        update(plugin, event);
        break;
    case PLUGIN_ANSWER:
        request = take_waiting_for_plugin(event->id);
        if (request != NULL) /* for release and load nobody waits */
            advance(request, plugin_answered(request, event));
        break;
    }
}

void order_helper_event(const struct helper_event *event)
{
    struct request *request = take_waiting_for_helper(event->id);
    if (request != NULL)
        advance(request, helper_answered(request, event));
    else
        threads_adjusted(event);
}

/* ---- what the files ask for ---- */

static void judge_identity(struct request *request)
{
    struct account *account = request->wish->user->account;
    if (account->state == ACCOUNT_FAILED) {
        say(request, ACL_FAIL, "the account database did not answer for uid %u", account->uid);
        blame(request, "access", false);
        advance(request, ANSWER);
    } else if (account->uid != 0 && !account_has_gid(account, spool.group) && !acl_names_uid(rules, account->uid)) {
        say(request, ACL_FAIL, "uid %u is not a member of the spool's group %u, and acl.conf does not name it", account->uid, spool.group);
        blame(request, "access", true);
        advance(request, ANSWER);
    } else
        advance(request, ASK);
}

static void identify(struct request *request)
{
    struct account *account = request->wish->user->account;
    if (account_ready(account)) {
        judge_identity(request);
        return;
    }
    request->step = STEP_ACCOUNT;
    TAILQ_INSERT_TAIL(&account->waiting, request, of_account);
}

void order_account_known(struct account *account)
{
    struct request *request;
    while ((request = TAILQ_FIRST(&account->waiting)) != NULL) {
        TAILQ_REMOVE(&account->waiting, request, of_account);
        judge_identity(request);
    }
}

static void judge_json(struct wish *wish, struct file *json)
{
    struct request *request = request_begin(wish, wish->recovered ? RECOVER : wish->grant != NULL ? CHANGE : CREATE);
    char reason[REASON_BYTES];
    wish->recovered = false;
    request->json = *json;
    wish_count(wish);
    if (wish->over_limit) {
        say(request, ACL_FAIL, "you have %d wishes already, the most that a user may have here", max_wishes);
        blame(request, "broker", false);
    } else if (json->state == FILE_BAD)
        say(request, BAD_SPEC, "%s.json %s", wish->name, json->reason);
    else if (!spec_parse(json->text, json->length, &request->spec, reason))
        say(request, BAD_SPEC, "%s.json: %.440s", wish->name, reason);
    else {
        request->has_spec = true;
        if (request->spec.attach == 0 || spool_stamp(wish->user, wish->name, ".tid", NULL).inode == 0) {
            identify(request);
            return;
        }
        say(request, BAD_SPEC, "%s.json: key \"attach\" and the file %s.tid both name a thread; one of them must go", wish->name, wish->name);
    }
    if (!wish->over_limit) {
        blame(request, "spec", true);
        request_event(request, "spec", "refused", -1, request->outcome.reason);
    }
    advance(request, ANSWER);
}

static void judge_tid(struct wish *wish, struct file *json, struct file *tid)
{
    struct request *request = request_begin(wish, tid->state == FILE_ABSENT ? DETACH : ATTACH);
    pid_t thread = 0;
    wish_count(wish);
    request->json = *json;
    request->tid = *tid;
    if (request->outcome.kind == DETACH) {
        say(request, RESULT_OK, "detached");
        if (wish->attachment != NULL && !wish->attachment->by_file)
            say(request, RESULT_OK, "%s.tid is gone; thread %d stays attached by the key \"attach\"", wish->name, (int)wish->attachment->tid);
        advance(request, wish->attachment != NULL && wish->attachment->by_file ? detach(request) : ANSWER);
        return;
    }
    if (tid->state == FILE_BAD)
        say(request, BAD_SPEC, "%s.tid %s", wish->name, tid->reason);
    else if (!spec_parse_tid(tid->text, tid->length, &thread))
        say(request, BAD_SPEC, "%s.tid must hold one thread id in decimal, from 1 to 4194304", wish->name);
    else if (json->state == FILE_ABSENT)
        say(request, ATTACH_FAIL, "there is no %s.json beside %s.tid", wish->name, wish->name);
    else if (wish->grant == NULL)
        say(request, ATTACH_FAIL, "%s.json has no grant to attach a thread to", wish->name);
    else if (wish->grant->spec.attach != 0)
        say(request, BAD_SPEC, "%s.json: key \"attach\" and the file %s.tid both name a thread; one of them must go", wish->name, wish->name);
    else {
        request->spec.attach = thread;
        say(request, RESULT_OK, "thread %d is attached", (int)thread);
        advance(request, ENFORCE);
        return;
    }
    bool bad = request->outcome.result == BAD_SPEC;
    blame(request, bad ? "spec" : "broker", true);
    request_event(request, bad ? "spec" : "attach", "refused", -1, request->outcome.reason);
    advance(request, ANSWER);
}

static void begin_release(struct wish *wish)
{
    struct request *request = request_begin(wish, RELEASE);
    if (wish->attachment != NULL)
        advance(request, detach(request));
    else
        advance(request, RELEASED);
}

static void apply_again(struct wish *wish, struct file *json)
{
    struct request *request = request_begin(wish, UPDATE);
    pid_t tid = wish->attachment->tid;
    request->json = *json;
    if (wish->attachment->replaced)
        say(request, RESULT_OK, "another thread of process %d called execve and has its id: it is attached now", (int)tid);
    else
        say(request, RESULT_OK, "thread %d has woken and is attached", (int)tid);
    bool replaced = wish->attachment->replaced;
    wish->attachment->awake = wish->attachment->replaced = false;
    (void)wish_record(wish);
    if (replaced && wish->grant->plan.policy == POLICY_DEADLINE && rest_waits(request, ENFORCE))
        return;
    (void)wait_for_helper(request, STEP_APPLY, helper_apply(wish->attachment, wish->grant, request->json.fd));
}

void order_recover(struct wish *wish, enum kind kind, const char *reason)
{
    struct request *request = request_begin(wish, kind);
    spool_file_open(wish->user, wish->name, ".json", &wish->judged, &request->json);
    if (request->json.fd < 0 || !stamp_equal(&request->json.stamp, &wish->judged)) {
        /* Removed or changed meanwhile: that is what is to be answered, and the thread follows. */
        request_drop(request);
        wish_queue(wish);
        return;
    }
    say(request, RESULT_OK, "%s", reason);
    (void)wait_for_helper(request, STEP_APPLY, helper_apply(wish->attachment, wish->grant, request->json.fd));
}

/* Between making a file and getting the right to write into it, open(2) lets events and a lease pass: what is
 * empty and has only just been made will be written and closed. */
static bool is_unwritten(const struct wish *wish, const struct file *file)
{
    return !wish->written && file->state == FILE_READ && file->text != NULL && file->length == 0 && !file->linked;
}

/* What has been judged already need not be read again, unless it has been written since and its stamp need not show it. */
static const struct stamp *known(const struct wish *wish, const struct stamp *judged, unsigned which)
{
    static const struct stamp unknown;
    return judged->fresh && (wish->closed & which) != 0 ? &unknown : judged;
}

static bool is_another(const struct file *file, const struct stamp *judged)
{
    return !stamp_equal(&file->stamp, judged) || (file->text != NULL && file->stamp.digest != judged->digest);
}

static void look_at_tid(struct wish *wish, struct file *tid)
{
    *tid = (struct file){.fd = -1, .state = FILE_ABSENT};
    if (is_known_to_have_tid(wish) || !spool_user_is_heard(wish->user))
        spool_file_open(wish->user, wish->name, ".tid", known(wish, &wish->judged_tid, OF_TID), tid);
    wish->has_tid = tid->state != FILE_ABSENT;
}

void wish_examine(struct wish *wish)
{
    struct file json, tid;
    if (wish->request != NULL && !rest_cancel(wish->request)) {
        wish->dirty = true;
        return;
    }
    if (wish->exited)
        threads_look(wish);
    if (wish->request != NULL) { /* it was followed into another program, and is being taken up there */
        wish->dirty = true;
        return;
    }
    if (wish->over_limit && wish->user->scanned)
        return; /* how many he has is just being looked at, and this one's turn comes after that */
    spool_file_open(wish->user, wish->name, ".json", known(wish, &wish->judged, OF_JSON), &json);
    if (json.state == FILE_BUSY || json.state == FILE_UNSEEN) {
        spool_watch_busy(wish, ".json", json.state);
        spool_file_close(&json);
        return;
    }
    wish->closed &= ~(unsigned)OF_JSON;
    if (is_unwritten(wish, &json)) {
        spool_file_close(&json);
        forget_if_empty(wish);
        return;
    }
    if (json.state == FILE_ABSENT && wish->judged.inode != 0) {
        begin_release(wish);
        return;
    }
    if ((json.state == FILE_READ || json.state == FILE_BAD) && is_another(&json, &wish->judged)) {
        spool_forget_busy(wish);
        judge_json(wish, &json);
        return;
    }
    look_at_tid(wish, &tid);
    bool busy = tid.state == FILE_BUSY || tid.state == FILE_UNSEEN;
    if (busy)
        spool_watch_busy(wish, ".tid", tid.state);
    else {
        wish->closed &= ~(unsigned)OF_TID;
        if (!wish->linked)
            spool_forget_busy(wish);
    }
    if (!busy && !is_unwritten(wish, &tid) && is_another(&tid, &wish->judged_tid)) {
        judge_tid(wish, &json, &tid);
        return;
    }
    spool_file_close(&tid);
    if (is_to_be_applied_again(wish) && wish->grant != NULL && json.fd >= 0) {
        apply_again(wish, &json);
        return;
    }
    spool_file_close(&json);
    if (wish->linked && wish->judged.inode != 0 && !spool_watch_links(wish))
        wish_queue(wish); /* a link came or went in this very moment */
    else
        forget_if_empty(wish);
}

/* ---- new rules ---- */

/* What is charged in full is known from what is granted; of a request that is under way only the part that
 * was held, for the rest is its grant's. */
static void charge_again(struct acl *acl, const struct wish *wish)
{
    const struct account *account = wish->user->account;
    struct request *request = wish->request;
    if (wish->grant != NULL) {
        free(wish->grant->charge.parts);
        acl_charge(acl, account, wish->grant->plugin, acl_weight(&wish->grant->spec, wish->grant->plan.runtime), &wish->grant->charge);
    }
    if (request != NULL && request->hold.count != 0)
        acl_charge_again(acl, account, request->plugin, &request->hold);
    if (request != NULL && request->partial != NULL)
        acl_charge_again(acl, account, request->partial->plugin, &request->partial->charge);
}

void order_new_rules(struct acl *acl)
{
    for (const struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next)
        charge_again(acl, wish);
    rest_uncharge();
    acl_free(rules);
    rules = acl;
    acl_report_overdrawn(acl);
    for (const struct user *user = spool_users(); user != NULL; user = user->hh.next)
        acl_report_overdrawn_by(acl, user->account);
}
