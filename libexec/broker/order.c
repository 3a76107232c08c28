#include "order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "accounting.h"
#include "acl.h"
#include "adjusting.h"
#include "asking.h"
#include "directories.h"
#include "enforcing.h"
#include "event.h"
#include "ledger.h"
#include "memory.h"
#include "names.h"
#include "readers.h"
#include "request.h"
#include "rest.h"
#include "resting.h"
#include "scans.h"
#include "spool.h"
#include "state.h"
#include "tasks.h"
#include "threads.h"
#include "turns.h"
#include "verdict.h"
#include "wishes.h"

struct recovery {
    enum kind kind;
    char reason[160];
};

enum { TURN_WISHES = 32 };

/* ---- verdicts ---- */

int64_t order_deadline(void)
{
    const int64_t paid_back = rest_deadline() < resting_deadline() ? rest_deadline() : resting_deadline();
    return threads_deadline() < paid_back ? threads_deadline() : paid_back;
}

static void advance(struct request *request, enum next next);

static void end_rests(int64_t now)
{
    struct request *request;
    rest_expire(now);
    while ((request = resting_over(now)) != NULL)
        advance(request, request->rested == ASK ? ask_again(request) : request->rested);
}

void order_expire(int64_t now)
{
    threads_expire(now);
    end_rests(now);
}

static bool nothing_is_left(const struct wish *wish)
{
    return wish->judged.inode == 0 && wish->judged_tid.inode == 0 && wish->leaving_tid.inode == 0 && wish->grant == NULL && wish->attachment == NULL &&
           !wish->asked && !wish->coming;
}

static void forget_if_empty(struct wish *wish)
{
    struct user *user = wish->user;
    if (!nothing_is_left(wish))
        return;
    reader_remove(user, wish->name, "verdict", NULL); /* of a wish that was not kept in mind */
    wish_forget(wish);
    if (user->gone && user->wishes == NULL)
        user_close(user);
}

bool order_has_queue(void)
{
    return turns_are_due() || turn_is_due();
}

void order_take_turn(void)
{
    struct wish *wish;
    struct request *request;
    for (int taken = 0; taken < TURN_WISHES && (request = turn_next()) != NULL; taken++)
        advance(request, ASK);
    for (int taken = 0; taken < TURN_WISHES && (wish = turns_next()) != NULL; taken++)
        wish_examine(wish);
}

static bool is_to_be_applied_again(const struct wish *wish)
{
    return wish->recovery != NULL || (wish->attachment != NULL && wish->attachment->awake);
}

/* A digest tells only where the times of files do not. */
static bool is_another(const struct file *file, const struct stamp *judged)
{
    return !stamp_equal(&file->stamp, judged) || (judged->fresh && file->state == FILE_READ && file->stamp.digest != judged->digest);
}

/* Nothing follows for its reader. */
static void end_sighting(struct wish *wish)
{
    if (wish->sighting != NULL)
        reader_done(wish->user, wish->name);
    wish_sighting_end(wish);
}

/* After an answer: what is news is told by the reader without being asked. */
static void examine_rest(struct wish *wish)
{
    if (wish->sighting != NULL || wish->exited || is_to_be_applied_again(wish) || (wish->dirty && !wish->coming))
        wish_queue(wish);
    else
        forget_if_empty(wish);
}

/* A NAME.tid that came with a wish has its turn after it. */
static bool has_more(const struct wish *wish, enum kind answered)
{
    return wish->sighting != NULL && answered != ATTACH && answered != DETACH && !wish->over_limit && is_another(&wish->sighting->tid, &wish->judged_tid);
}

static void answer(struct request *request)
{
    struct wish *wish = request->wish;
    bool over_limit = wish->over_limit && !wish->dirty && wish->grant == NULL && wish->attachment == NULL;
    /* A wish whose thread could not be attached, and that would end with it, must not hold anything. */
    if (request->outcome.result == ATTACH_FAIL && wish->grant != NULL && wish->grant->spec.lifetime_thread && wish->attachment == NULL) {
        grant_unbook(wish, true);
        request->recorded = false;
    }
    (void)request_record(request);
    const bool more = has_more(wish, request->outcome.kind);
    verdict_tell(wish, &request->outcome, (monotonic_now() - request->started) / 1000, wish->sighting != NULL, more);
    if (!more)
        wish_sighting_end(wish); /* the verdict is the last that its reader hears of it */
    request_drop(request);
    if (over_limit && !wish->coming)
        wish_forget(wish);
    else
        examine_rest(wish);
}

/* A directory that was moved away and back comes as a new one, and may have asked for the thread while the old
 * wish still had it. */
static void tell_successor(const struct wish *wish)
{
    struct user *user = user_find(wish->user->name);
    struct wish *successor = user == NULL ? NULL : wish_find(user, wish->name, false);
    if (successor == NULL || successor->attachment != NULL)
        return;
    successor->judged_tid = (struct stamp){0};
    if (successor->grant != NULL && successor->grant->spec.attach != 0)
        successor->judged = (struct stamp){0};
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
    reader_remove(wish->user, wish->name, "verdict", NULL);
    if (wish->judged_tid.inode != 0 && wish->sighting != NULL && wish->sighting->tid.state != FILE_ABSENT && !wish->user->gone) {
        wish->leaving_tid = wish->judged_tid;
        reader_remove(wish->user, wish->name, "tid", &wish->leaving_tid); /* whoever removes it, that will be told */
        readers_flush(); /* once this is written down as released, nobody would know whose that file was */
    }
    (void)state_gone(wish); /* last: a crash before it releases once more */
    if (wish->leaving_tid.inode == 0) /* else it is kept in mind until then, and must not be one too many */
        wish_uncount(wish);
    event_write(&event);
    if (wish->user->gone)
        tell_successor(wish);
    wish->judged = wish->judged_tid = (struct stamp){0};
    free(wish->token);
    wish->token = NULL;
    wish->ending = false;
    request_drop(request);
    end_sighting(wish);
    examine_rest(wish);
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
        end_sighting(wish);
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
            verdict_again(wish, UPDATE, "the plugin moved it to make room");
        return;
    }
    if (is_being_detached(wish))
        return;
    adjusting_expect(wish, helper_adjust(wish->attachment, wish->grant), news);
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
    } else {
        request->outcome.judged = &request->spec;
        advance(request, ASK);
    }
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

static void judge_json(struct wish *wish)
{
    struct sighting *sighting = wish->sighting;
    struct request *request = request_begin(wish, wish->recovered ? RECOVER : wish->grant != NULL ? CHANGE : CREATE);
    wish->recovered = wish->ending = false;
    request->json = sighting->json;
    request->spec = sighting->spec; /* of one that is wrong it has the token */
    sighting->spec = (struct spec){0};
    request->outcome.dry_run = request->json.state != FILE_BAD && request->spec.dry_run;
    wish_count(wish);
    if (wish->over_limit) {
        say(request, ACL_FAIL, "you have %d wishes already, the most that a user may have here", max_wishes);
        blame(request, "broker", false);
    } else if (request->json.state == FILE_BAD)
        say(request, BAD_SPEC, "%s", request->json.reason);
    else {
        request->has_spec = true;
        if (request->spec.attach == 0 || sighting->tid.state == FILE_ABSENT) {
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

static void judge_tid(struct wish *wish)
{
    const struct sighting *sighting = wish->sighting;
    struct request *request = request_begin(wish, sighting->tid.state == FILE_ABSENT ? DETACH : ATTACH);
    wish_count(wish);
    request->json = sighting->json;
    request->tid = sighting->tid;
    if (request->outcome.kind == DETACH) {
        say(request, RESULT_OK, "detached");
        if (wish->attachment != NULL && !wish->attachment->by_file)
            say(request, RESULT_OK, "%s.tid is gone; thread %d stays attached by the key \"attach\"", wish->name, (int)wish->attachment->tid);
        advance(request, wish->attachment != NULL && wish->attachment->by_file ? detach(request) : ANSWER);
        return;
    }
    if (request->tid.state == FILE_BAD)
        say(request, BAD_SPEC, "%s", request->tid.reason);
    else if (request->json.state == FILE_ABSENT)
        say(request, ATTACH_FAIL, "there is no %s.json beside %s.tid", wish->name, wish->name);
    else if (wish->grant == NULL)
        say(request, ATTACH_FAIL, "%s.json has no grant to attach a thread to", wish->name);
    else if (wish->grant->spec.attach != 0)
        say(request, BAD_SPEC, "%s.json: key \"attach\" and the file %s.tid both name a thread; one of them must go", wish->name, wish->name);
    else {
        request->spec.attach = sighting->thread;
        say(request, RESULT_OK, "thread %d is attached", (int)sighting->thread);
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

static void apply_again(struct wish *wish)
{
    const struct recovery recovery = wish->recovery == NULL ? (struct recovery){.kind = UPDATE} : *wish->recovery;
    struct request *request = request_begin(wish, recovery.kind);
    pid_t tid = wish->attachment->tid;
    request->json = wish->sighting->json;
    if (wish->recovery != NULL)
        say(request, RESULT_OK, "%s", recovery.reason);
    else
        say(request, RESULT_OK, "thread %d has woken and is attached", (int)tid);
    free(wish->recovery);
    wish->recovery = NULL;
    wish->attachment->awake = false;
    (void)wish_record(wish);
    (void)wait_for_helper(request, STEP_APPLY, helper_apply(wish->attachment, wish->grant, wish->json.fd));
}

void order_recover(struct wish *wish, enum kind kind, const char *reason)
{
    if (wish->recovery == NULL)
        wish->recovery = allocate(sizeof *wish->recovery);
    wish->recovery->kind = kind;
    snprintf(wish->recovery->reason, sizeof wish->recovery->reason, "%s", reason);
    wish_queue(wish);
}

static void ask(struct wish *wish, bool whole)
{
    if (wish->asked || (wish->coming && !whole))
        return;
    wish->asked = true;
    reader_look(wish->user, wish->name, whole);
}

/* Its reader has it told, or is asked to; of a directory that is gone nothing is there. False: there will be an answer. */
static bool has_sighting(struct wish *wish)
{
    if (wish->sighting == NULL && wish->user->gone)
        wish->sighting = allocate(sizeof *wish->sighting);
    if (wish->sighting == NULL)
        ask(wish, is_to_be_applied_again(wish));
    return wish->sighting != NULL;
}

/* Only with its content, or its open file, can it go on. */
static void ask_for_whole(struct wish *wish)
{
    end_sighting(wish);
    ask(wish, true);
}

/* Whose NAME.json is; or may be, if it is looked at once more. What is no file of his has nothing to be opened. */
static bool shows_owner(const struct wish *wish)
{
    const enum file_state state = wish->sighting->json.state;
    return wish->json.fd >= 0 || state == FILE_READ || state == FILE_SAME;
}

/* What is in its files that has had no answer. True: that is under way. */
static bool judge(struct wish *wish)
{
    struct sighting *sighting = wish->sighting;
    if (sighting->tid.state != FILE_ABSENT && stamp_equal(&sighting->tid.stamp, &wish->leaving_tid))
        sighting->tid = (struct file){.state = FILE_ABSENT};
    else
        wish->leaving_tid = (struct stamp){0}; /* it has gone */
    const bool is_there = sighting->json.state != FILE_ABSENT;
    if (!is_there && wish->judged.inode != 0)
        begin_release(wish);
    else if (is_there && is_another(&sighting->json, &wish->judged)) {
        if (sighting->json.state != FILE_SAME)
            judge_json(wish);
        else
            ask_for_whole(wish);
    } else if (is_another(&sighting->tid, &wish->judged_tid))
        judge_tid(wish);
    else if (!is_to_be_applied_again(wish) || wish->grant == NULL || wish->attachment == NULL || !shows_owner(wish))
        return false;
    else if (wish->json.fd >= 0)
        apply_again(wish);
    else
        ask_for_whole(wish);
    return true;
}

void wish_examine(struct wish *wish)
{
    if (wish->request != NULL) {
        if (!resting_cancel(wish->request)) {
            wish->dirty = true;
            return;
        }
        end_sighting(wish);
    }
    if (wish->exited)
        threads_look(wish);
    if (wish->over_limit && wish->user->scan != NULL)
        return; /* how many he has is just being looked at, and this one's turn comes after that */
    if (!has_sighting(wish) || judge(wish))
        return;
    wish->dirty = false;
    free(wish->recovery); /* there is nothing to be made again */
    wish->recovery = NULL;
    end_sighting(wish);
    forget_if_empty(wish);
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
    struct wish *wish = wish_find(user, name, true);
    if (wish->request != NULL || wish->sighting != NULL) {
        refuse_files(user, sighting, &json, "its reader tells the same twice");
        return;
    }
    if (json.fd >= 0 && !is_own_file(user, json.fd)) {
        refuse_files(user, sighting, &json, "its reader passes a file that is not its user's");
        return;
    }
    wish->sighting = allocate(sizeof *wish->sighting);
    *wish->sighting = *sighting;
    wish->json = json;
    wish->asked = wish->coming = false;
    wish_queue(wish);
}

void order_news(struct user *user, const char *name)
{
    struct wish *wish = wish_find(user, name, false);
    if (wish == NULL || wish->sighting == NULL)
        return;
    wish->coming = true;
    if (wish->request != NULL)
        wish_examine(wish);
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
    for (struct wish *wish = user->wishes; wish != NULL; wish = wish->hh.next) {
        const bool waited = wish->asked || wish->coming || wish->sighting != NULL || wish->leaving_tid.inode != 0;
        wish->asked = wish->coming = false;
        if (wish->request == NULL)
            wish_sighting_end(wish);
        if (wish->ending)
            reader_remove(user, wish->name, "json", &wish->judged);
        if (wish->leaving_tid.inode != 0)
            reader_remove(user, wish->name, "tid", &wish->leaving_tid);
        if (waited)
            wish_queue(wish);
    }
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
    for (const struct user *user = users_first(); user != NULL; user = user->hh.next)
        acl_report_overdrawn_by(acl, user->account);
}
