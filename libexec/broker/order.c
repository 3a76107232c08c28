#include "order.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "ledger.h"
#include "names.h"
#include "request.h"
#include "spec.h"
#include "state.h"
#include "units.h"
#include "verdict.h"

struct acl *rules;
int max_wishes = 1000;

static struct wish *tasks;
static uint64_t last_task;
static struct attachment *attachments; /* by tid */
static struct request *asked_plugins, *asked_helper;
static struct attachment *ended[LOOP_EVENTS * 4];
static int ended_count;

/* A verdict that could not be written, to be tried again. */
struct owed {
    TAILQ_ENTRY(owed) next;
    uint64_t task;
    struct outcome outcome;
};
static TAILQ_HEAD(, owed) owed_verdicts = TAILQ_HEAD_INITIALIZER(owed_verdicts);
static int64_t retry_at = INT64_MAX;
static const int64_t retry_after = INT64_C(1000000000);

/* A priority or CPU that moved on a plugin's word; the owner is told when the thread has followed. */
struct adjusting {
    uint64_t id, task;
    bool tell;
    UT_hash_handle hh;
};
static struct adjusting *adjustments;

static void ask_next(struct request *request);
static void settle_thread(struct request *request);
static void finish(struct request *request);

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        abort(); /* state/ brings a new broker back to here */
    return memory;
}

/* ---- wishes ---- */

uint64_t new_task(void)
{
    return ++last_task;
}

void tasks_from(uint64_t first)
{
    if (first > last_task)
        last_task = first;
}

struct wish *wish_first(void)
{
    return tasks;
}

struct wish *wish_of_task(uint64_t task)
{
    struct wish *wish;
    HASH_FIND(hh_task, tasks, &task, sizeof task, wish);
    return wish;
}

struct wish *wish_find(struct user *user, const char *name, bool create)
{
    struct wish *wish;
    HASH_FIND_STR(user->wishes, name, wish);
    if (wish != NULL || !create)
        return wish;
    wish = allocate(sizeof *wish);
    wish->user = user;
    snprintf(wish->name, sizeof wish->name, "%s", name);
    wish->busy_watch = -1;
    wish->task = new_task();
    struct account *bucket = account_bucket(user->account);
    wish->over_limit = user->uid != 0 && bucket->wishes >= max_wishes;
    if (!wish->over_limit) {
        wish->counted = bucket;
        bucket->wishes++;
    }
    HASH_ADD_STR(user->wishes, name, wish);
    HASH_ADD(hh_task, tasks, task, sizeof wish->task, wish);
    return wish;
}

void wish_forget(struct wish *wish)
{
    spool_forget_busy(wish);
    if (wish->counted != NULL)
        wish->counted->wishes--;
    HASH_DELETE(hh, wish->user->wishes, wish);
    HASH_DELETE(hh_task, tasks, wish);
    free(wish);
}

/* ---- the books ---- */

uint64_t grant_utilization(const struct grant *grant)
{
    uint64_t window = spec_window(&grant->spec);
    return grant->plan.runtime == 0 || window == 0 ? 0 : utilization(grant->plan.runtime, window);
}

/* Plugins that share CPUs hear of one another's tasks. */
void tell_neighbours(struct wish *wish, const struct grant *before, const struct grant *after)
{
    for (int i = 0; i < plugins_count(); i++) {
        bool did = before != NULL && plugins_share_cpu(before->plugin, i);
        bool does = after != NULL && plugins_share_cpu(after->plugin, i);
        if (does)
            plugin_load(i, wish->task, after);
        else if (did)
            plugin_load(i, wish->task, NULL);
    }
}

void grant_book(struct wish *wish, struct grant *grant)
{
    wish->grant = grant;
    ledger_add(grant);
    tell_neighbours(wish, NULL, grant);
}

/* Takes the grant out of all books and frees it. */
void grant_unbook(struct wish *wish, bool tell_plugin)
{
    struct grant *grant = wish->grant;
    if (grant == NULL)
        return;
    ledger_remove(grant);
    acl_release(&grant->charge);
    if (tell_plugin)
        (void)plugin_release(grant->plugin, wish->task);
    tell_neighbours(wish, grant, NULL);
    wish->grant = NULL;
    free(grant);
}

/* ---- attachments ---- */

struct attachment *attachment_new(struct wish *wish, pid_t tid, uint64_t start, int pidfd, bool by_file, const struct attributes *former)
{
    struct attachment *attachment = allocate(sizeof *attachment);
    *attachment = (struct attachment){.source = {SOURCE_THREAD, 0}, .wish = wish, .tid = tid, .start = start, .pidfd = pidfd,
                                      .by_file = by_file, .former = *former};
    return attachment;
}

bool attachment_watch(struct attachment *attachment)
{
    struct attachment *other;
    HASH_FIND(hh, attachments, &attachment->tid, sizeof attachment->tid, other);
    if (other != NULL)
        return other == attachment;
    HASH_ADD(hh, attachments, tid, sizeof attachment->tid, attachment);
    return loop_add(attachment->pidfd, EPOLLIN, &attachment->source);
}

/* Freed only when the events in hand have been dealt with: one of them may point here. */
static void bury(struct attachment *attachment)
{
    if (attachment->pidfd >= 0)
        close(attachment->pidfd);
    attachment->pidfd = -1;
    attachment->wish = NULL;
    if (ended_count < (int)(sizeof ended / sizeof *ended))
        ended[ended_count++] = attachment; /* beyond that it leaks: an event for it cannot be told */
}

void order_sweep(void)
{
    while (ended_count > 0)
        free(ended[--ended_count]);
}

void attachment_end(struct wish *wish)
{
    struct attachment *attachment = wish->attachment, *known;
    if (attachment == NULL)
        return;
    HASH_FIND(hh, attachments, &attachment->tid, sizeof attachment->tid, known);
    if (known == attachment)
        HASH_DEL(attachments, attachment);
    wish->attachment = NULL;
    bury(attachment);
}

/* ---- waiting for answers ---- */

static void wait_for_plugin(struct request *request, enum step step, uint64_t id)
{
    request->step = step;
    request->answer_id = id;
    request->waiting = true;
    HASH_ADD(hh, asked_plugins, answer_id, sizeof request->answer_id, request);
}

static void wait_for_helper(struct request *request, enum step step, uint64_t id)
{
    request->step = step;
    request->answer_id = id;
    request->waiting = true;
    HASH_ADD(hh, asked_helper, answer_id, sizeof request->answer_id, request);
}

static struct request *take_waiting(struct request **table, uint64_t id)
{
    struct request *request;
    HASH_FIND(hh, *table, &id, sizeof id, request);
    if (request != NULL) {
        HASH_DEL(*table, request);
        request->waiting = false;
    }
    return request;
}

/* ---- beginning and ending a request ---- */

static struct request *begin(struct wish *wish, enum kind kind)
{
    struct request *request = allocate(sizeof *request);
    request->wish = wish;
    request->outcome.kind = kind;
    request->started = monotonic_now();
    request->plugin = request->no_plugin = -1;
    request->json.fd = request->tid.fd = -1;
    wish->request = request;
    wish->dirty = false;
    return request;
}

static void say(struct request *request, enum result result, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(struct request *request, enum result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->outcome.reason, sizeof request->outcome.reason, format, arguments);
    va_end(arguments);
    request->outcome.result = result;
}

static void blame(struct request *request, const char *by, bool never)
{
    struct refusal *refusal = &request->outcome.refusal;
    if (refusal->by[0] == '\0')
        snprintf(refusal->by, sizeof refusal->by, "%s", by);
    refusal->never = never;
}

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

static void tell(struct wish *wish, const struct outcome *outcome, int64_t microseconds)
{
    bool written = verdict_write(wish, outcome);
    int error = errno;
    struct event event = {.stage = "verdict", .user = wish->user, .name = wish->name, .request = kind_name(outcome->kind),
                          .decision = result_name(outcome->result), .reason = outcome->reason,
                          .plugin = wish->grant == NULL ? NULL : plugin_line(wish->grant->plugin)->name,
                          .tid = wish->attachment == NULL ? 0 : wish->attachment->tid,
                          .token = wish->token[0] == '\0' ? NULL : wish->token, .microseconds = microseconds};
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
    return retry_at;
}

void order_expire(int64_t now)
{
    if (now < retry_at)
        return;
    struct owed *owed;
    retry_at = INT64_MAX;
    while ((owed = TAILQ_FIRST(&owed_verdicts)) != NULL) {
        struct wish *wish = wish_of_task(owed->task);
        if (wish != NULL && wish->request == NULL && !verdict_write(wish, &owed->outcome)) {
            retry_at = now + retry_after;
            return;
        }
        TAILQ_REMOVE(&owed_verdicts, owed, next);
        free(owed);
    }
}

/* From here on a crash finds what has been decided. False: it could not be written down. */
static bool record(struct request *request)
{
    struct wish *wish = request->wish;
    if (wish->over_limit)
        return true; /* it is told, and forgotten */
    if (request->recorded)
        return true;
    if (request->json.fd >= 0 || request->json.state == FILE_BAD)
        wish->judged = request->json.stamp;
    if (request->outcome.kind == ATTACH)
        wish->judged_tid = request->tid.stamp;
    else if (request->outcome.kind == DETACH)
        wish->judged_tid = (struct stamp){0};
    if (request->has_spec)
        memcpy(wish->token, request->spec.token, sizeof wish->token);
    request->recorded = state_wish(wish);
    return request->recorded;
}

static void drop_request(struct request *request)
{
    request->wish->request = NULL;
    acl_release(&request->hold);
    if (request->partial != NULL)
        acl_release(&request->partial->charge);
    if (request->target != NULL)
        bury(request->target);
    free(request->partial);
    free(request->old);
    free(request->outcome.replies);
    spool_file_close(&request->json); /* and this wakes the owner */
    spool_file_close(&request->tid);
    free(request);
}

static void finish(struct request *request)
{
    struct wish *wish = request->wish;
    bool new_grant = request->outcome.kind == CREATE && wish->grant != NULL;
    bool over_limit = wish->over_limit && !wish->dirty;
    /* A wish whose thread could not be attached, and that would end with it, must not hold anything. */
    if (request->outcome.result == ATTACH_FAIL && wish->grant != NULL && wish->grant->spec.lifetime_thread && wish->attachment == NULL) {
        grant_unbook(wish, true);
        request->recorded = false;
    }
    (void)record(request);
    tell(wish, &request->outcome, (monotonic_now() - request->started) / 1000);
    drop_request(request);
    if (new_grant && wish->attachment == NULL)
        wish->judged_tid = (struct stamp){0}; /* a NAME.tid that came first has now something to attach to */
    if (over_limit)
        wish_forget(wish);
    else
        wish_examine(wish);
}

/* ---- asking: access rules, plugins, ledger ---- */

static void add_reply(struct request *request, int plugin, enum answer answer, const char *reason)
{
    struct outcome *outcome = &request->outcome;
    if (outcome->replies == NULL)
        outcome->replies = allocate((size_t)plugins_count() * sizeof *outcome->replies);
    for (int i = 0; i < outcome->reply_count; i++)
        if (outcome->replies[i].plugin == plugin)
            outcome->reply_count = i; /* asked a second time */
    struct reply *reply = &outcome->replies[outcome->reply_count++];
    reply->plugin = plugin;
    reply->answer = answer;
    snprintf(reply->reason, sizeof reply->reason, "%s", reason);
}

static void note_no(struct request *request, int plugin, enum answer answer, const char *reason, uint64_t nearest, bool never)
{
    add_reply(request, plugin, answer, reason);
    /* The no that could become a yes is the one worth telling. */
    if (request->no_plugin < 0 || (request->no_never && !never) || nearest > request->nearest) {
        request->no_plugin = plugin;
        request->no_never = never;
        snprintf(request->no_reason, sizeof request->no_reason, "%s refused: %.400s", plugin_line(plugin)->name, reason);
    }
    if (nearest > request->nearest)
        request->nearest = nearest;
}

static struct grant *make_grant(const struct request *request, int plugin, const struct attributes *plan)
{
    struct grant *grant = allocate(sizeof *grant);
    grant->plugin = plugin;
    grant->plan = *plan;
    grant->spec = request->spec;
    grant->spec.token[0] = '\0';
    grant->utilization = grant_utilization(grant);
    return grant;
}

/* The plugin holds a plan that will not be: back to what it had. */
static void undo_plan(const struct request *request, int plugin)
{
    const struct grant *now = request->wish->grant;
    if (now != NULL && now->plugin == plugin)
        (void)plugin_schedule(plugin, request->wish->task, now);
    else
        (void)plugin_release(plugin, request->wish->task);
}

/* The grant is in force from here, unless the kernel refuses it to the attached thread. */
static void commit(struct request *request, struct grant *grant)
{
    struct wish *wish = request->wish;
    struct grant *old = wish->grant;
    if (old != NULL) {
        ledger_remove(old);
        acl_release(&old->charge);
        if (old->plugin != grant->plugin)
            (void)plugin_release(old->plugin, wish->task);
    }
    request->old = old;
    wish->grant = grant;
    ledger_add(grant);
    acl_settle(&grant->charge, acl_weight(&grant->spec, grant->plan.runtime));
    tell_neighbours(wish, old, grant);
    say(request, RESULT_OK, "%s grants it", plugin_line(grant->plugin)->name);
    settle_thread(request);
}

/* Back to the grant before, in all books. */
static void uncommit(struct request *request)
{
    struct wish *wish = request->wish;
    struct grant *refused = wish->grant, *old = request->old;
    ledger_remove(refused);
    acl_release(&refused->charge);
    wish->grant = old;
    request->old = NULL;
    if (old != NULL) {
        ledger_add(old);
        acl_charge(rules, wish->user->account, old->plugin, acl_weight(&old->spec, old->plan.runtime), &old->charge);
    }
    undo_plan(request, refused->plugin);
    if (old != NULL && old->plugin != refused->plugin)
        (void)plugin_schedule(old->plugin, wish->task, old);
    tell_neighbours(wish, refused, old);
    free(refused);
}

static void accept_answered(struct request *request, const struct plugin_event *event)
{
    struct wish *wish = request->wish;
    int plugin = request->plugin;
    char reason[REASON_BYTES];
    if (event->answer == ANSWER_NO || event->answer == ANSWER_RESTARTING) {
        acl_release(&request->hold);
        note_no(request, plugin, event->answer, event->reason, event->nearest < request->ceiling ? event->nearest : request->ceiling,
                event->never);
        ask_next(request);
        return;
    }
    if (!plan_is_its_own(plugin, &request->spec, request->ceiling, &event->plan, reason)) {
        acl_release(&request->hold);
        plugin_fail(plugin, reason);
        note_no(request, plugin, ANSWER_RESTARTING, "the plugin gave an answer that it may not give", 0, false);
        ask_next(request);
        return;
    }
    struct grant *grant = make_grant(request, plugin, &event->plan);
    bool committed = request->commit && event->answer == ANSWER_OK;
    if (!ledger_fits(grant, wish->grant, reason)) {
        free(grant);
        acl_release(&request->hold);
        if (committed)
            undo_plan(request, plugin);
        if (!request->retried) { /* another plugin's task on a shared CPU may have crossed; now it has heard of it */
            request->retried = true;
            request->plugin--;
        } else {
            plugin_fail(plugin, reason);
            note_no(request, plugin, ANSWER_RESTARTING, "the plugin promised more than its CPUs hold", 0, false);
        }
        ask_next(request);
        return;
    }
    if (grant->plan.priority != 0 && !acl_priority_passes(rules, wish->user->account, plugin, grant->plan.priority,
                                                          &request->denial, request->denial_reason)) {
        request->denied = true;
        if (committed)
            undo_plan(request, plugin);
        free(grant);
        acl_release(&request->hold);
        ask_next(request);
        return;
    }
    add_reply(request, plugin, event->answer, event->reason);
    grant->charge = request->hold;
    request->hold = (struct charge){0};
    if (committed) {
        commit(request, grant);
        return;
    }
    if (event->answer == ANSWER_PARTIAL && request->partial != NULL) {
        acl_release(&grant->charge);
        free(grant);
        ask_next(request);
        return;
    }
    if (request->partial != NULL) {
        acl_release(&request->partial->charge);
        free(request->partial);
    }
    request->partial = grant;
    if (event->answer == ANSWER_OK)
        wait_for_plugin(request, STEP_SCHEDULE, plugin_schedule(plugin, wish->task, grant));
    else
        ask_next(request);
}

static void schedule_answered(struct request *request, const struct plugin_event *event)
{
    struct grant *grant = request->partial;
    char reason[REASON_BYTES];
    request->partial = NULL;
    /* While others were asked its place may have been taken, or the plugin may have gone. */
    bool fits = ledger_fits(grant, request->wish->grant, reason);
    if (event->answer == ANSWER_OK && fits) {
        commit(request, grant);
        return;
    }
    if (event->answer == ANSWER_OK)
        undo_plan(request, grant->plugin);
    say(request, SCHEDULE_FAIL, "%s offered it, but %s", plugin_line(grant->plugin)->name, fits ? event->reason : reason);
    blame(request, plugin_line(grant->plugin)->name, false);
    acl_release(&grant->charge);
    free(grant);
    finish(request);
}

static void refuse_all(struct request *request)
{
    struct refusal *refusal = &request->outcome.refusal;
    /* A plugin that was never going to take it says less than the rule that kept the others from being asked. */
    if (request->no_plugin >= 0 && !(request->denied && request->no_never)) {
        blame(request, plugin_line(request->no_plugin)->name, request->no_never);
        refusal->nearest = request->nearest;
        say(request, SCHEDULE_FAIL, "%s", request->no_reason);
    } else if (request->denied) {
        *refusal = request->denial;
        refusal->nearest = request->nearest;
        say(request, ACL_FAIL, "%s", request->denial_reason);
    } else {
        blame(request, "broker", true);
        say(request, SCHEDULE_FAIL, "plugins.conf has no plugin \"%s\"", request->spec.plugin);
    }
    finish(request);
}

static void keep_denial(struct request *request, const struct refusal *refusal, const char *reason)
{
    if (request->denied)
        return;
    request->denied = true;
    request->denial = *refusal;
    snprintf(request->denial_reason, sizeof request->denial_reason, "%s", reason);
}

/* The rules refuse the runtime, but would let a smaller one pass: how much of it would the plugin take? */
static void probe(struct request *request)
{
    struct spec smaller = request->spec;
    smaller.runtime = request->ceiling;
    smaller.desired_runtime = 0;
    wait_for_plugin(request, STEP_PROBE, plugin_accept(request->plugin, request->wish->task, &smaller, request->ceiling, false));
}

static void probe_answered(struct request *request, const struct plugin_event *event)
{
    uint64_t nearest = event->answer == ANSWER_OK || event->answer == ANSWER_PARTIAL ? request->ceiling : event->nearest;
    if (nearest > request->nearest && nearest <= request->ceiling)
        request->nearest = nearest;
    ask_next(request);
}

/* Whatever priority this plugin might plan would pass the rules: then accepting and scheduling is one step. */
static bool any_priority_passes(const struct request *request, const struct plugin_line *line)
{
    struct refusal ignored;
    char reason[REASON_BYTES];
    const struct account *account = request->wish->user->account;
    return line->deadline || (acl_priority_passes(rules, account, request->plugin, line->lowest, &ignored, reason) &&
                              acl_priority_passes(rules, account, request->plugin, line->highest, &ignored, reason));
}

static void ask_next(struct request *request)
{
    struct wish *wish = request->wish;
    while (++request->plugin < plugins_count()) {
        const struct plugin_line *line = plugin_line(request->plugin);
        struct refusal refusal;
        char reason[REASON_BYTES];
        if (request->spec.plugin[0] != '\0' && strcmp(request->spec.plugin, line->name) != 0)
            continue;
        if (acl_check(rules, wish->user->account, request->plugin, line->name, &request->spec, wish->grant, &request->hold,
                      &request->ceiling, &refusal, reason)) {
            request->commit = any_priority_passes(request, line);
            wait_for_plugin(request, STEP_ACCEPT, plugin_accept(request->plugin, wish->task, &request->spec, request->ceiling, request->commit));
            return;
        }
        keep_denial(request, &refusal, reason);
        if (request->ceiling > 0 && request->ceiling < request->spec.runtime) {
            probe(request);
            return;
        }
    }
    if (request->partial == NULL) {
        refuse_all(request);
        return;
    }
    wait_for_plugin(request, STEP_SCHEDULE, plugin_schedule(request->partial->plugin, wish->task, request->partial));
}

void order_plugin_event(int plugin, const struct plugin_event *event)
{
    if (event->kind == PLUGIN_ANSWER) {
        struct request *request = take_waiting(&asked_plugins, event->id);
        if (request == NULL)
            return; /* release, load: nobody waits */
        if (request->step == STEP_PROBE)
            probe_answered(request, event);
        else if (request->step == STEP_SCHEDULE)
            schedule_answered(request, event);
        else
            accept_answered(request, event);
        return;
    }
    if (event->kind == PLUGIN_UP) {
        for (struct wish *wish = tasks; wish != NULL; wish = wish->hh_task.next) {
            if (wish->grant != NULL && wish->grant->plugin == plugin)
                (void)plugin_schedule(plugin, wish->task, wish->grant);
            else if (wish->grant != NULL && plugins_share_cpu(wish->grant->plugin, plugin))
                plugin_load(plugin, wish->task, wish->grant);
        }
        return;
    }
    struct wish *wish = wish_of_task(event->task);
    const struct plugin_line *line = plugin_line(plugin);
    cpu_set_t own;
    CPU_AND(&own, &event->plan.cpus, &line->cpus);
    if (wish == NULL || wish->grant == NULL || wish->grant->plugin != plugin) {
        plugin_fail(plugin, "it moves a task that is not its own");
        return;
    }
    if ((event->has_cpus && !CPU_EQUAL(&own, &event->plan.cpus)) ||
        (event->has_priority && (event->plan.priority < line->lowest || event->plan.priority > line->highest))) {
        plugin_fail(plugin, "it moves a task to a CPU or priority that is not its own");
        return;
    }
    struct grant *grant = wish->grant;
    struct grant before = *grant;
    ledger_remove(grant);
    if (event->has_cpus)
        grant->plan.cpus = event->plan.cpus;
    if (event->has_priority)
        grant->plan.priority = event->plan.priority;
    ledger_add(grant);
    if (event->has_cpus)
        tell_neighbours(wish, &before, grant);
    (void)state_wish(wish);
    /* A level that moved to keep an order is no news to an owner who never asked for one. */
    bool news = wish->request == NULL && (event->has_cpus || grant->spec.priority != 0);
    if (wish->attachment == NULL) {
        if (news)
            answer_again(wish, UPDATE, "the plugin moved it to make room");
        return;
    }
    struct adjusting *adjusting = allocate(sizeof *adjusting);
    adjusting->id = helper_adjust(wish->attachment->tid, wish->attachment->start, &grant->plan);
    adjusting->task = wish->task;
    adjusting->tell = news;
    HASH_ADD(hh, adjustments, id, sizeof adjusting->id, adjusting);
}

/* ---- enforcing ---- */

static bool elsewhere(const struct wish *wish, pid_t tid, uint64_t start)
{
    struct attachment *other;
    HASH_FIND(hh, attachments, &tid, sizeof tid, other);
    return other != NULL && other->wish != wish && other->start == start;
}

/* A file that is older than the thread it names means another thread, long gone. The kernel's clock tick and
 * the coarse time of files blur this by 20 ms. */
static bool is_older(const struct stamp *file, const struct identity *identity)
{
    return file->seconds * 1000000000 + file->nanoseconds + INT64_C(20000000) < thread_started(identity);
}

/* The thread the owner means, or why it is not to be had. */
static struct attachment *look_at_target(struct request *request, pid_t tid, bool by_file)
{
    struct wish *wish = request->wish;
    struct identity identity;
    struct attributes former;
    uid_t uid = wish->user->uid;
    int pidfd = thread_open(tid);
    bool there = pidfd >= 0 && thread_identify(tid, &identity);
    const struct stamp *file = by_file ? &request->tid.stamp : &request->json.stamp;
    const char *name = by_file ? ".tid" : ".json";
    if (!there || identity.ended || thread_has_ended(pidfd))
        say(request, ATTACH_FAIL, "there is no thread %d", (int)tid);
    else if (identity.kernel)
        say(request, ATTACH_FAIL, "thread %d is a kernel thread", (int)tid);
    else if (uid != 0 && (identity.real_uid != uid || identity.effective_uid != uid || identity.saved_uid != uid))
        say(request, ATTACH_FAIL, "thread %d is not yours: it runs as uid %u (effective %u, saved %u), you are %u", (int)tid, identity.real_uid,
            identity.effective_uid, identity.saved_uid, uid);
    else if (is_older(file, &identity)) {
        say(request, ATTACH_FAIL, "%s%s is older than thread %d: it means another one that had this id", wish->name, name, (int)tid);
        if (by_file) { /* it can only ever do harm */
            spool_remove(wish->user, wish->name, ".tid", request->tid.stamp.inode);
            request->tid.stamp = (struct stamp){0};
        }
    }
    else if (elsewhere(wish, tid, identity.start))
        say(request, ATTACH_FAIL, "thread %d is attached to another reservation already", (int)tid);
    else if (!thread_attributes(tid, &former))
        say(request, ATTACH_FAIL, "there is no thread %d", (int)tid);
    else
        return attachment_new(wish, tid, identity.start, pidfd, by_file, &former);
    if (pidfd >= 0)
        close(pidfd);
    return NULL;
}

static void apply(struct request *request)
{
    struct wish *wish = request->wish;
    /* Former attributes reach state/ before the call that changes them. */
    if (!record(request)) {
        say(request, ATTACH_FAIL, "the broker cannot write its state: %s", strerror(errno));
        blame(request, "broker", false);
        if (request->target != NULL)
            attachment_end(wish);
        else if (request->old != NULL)
            uncommit(request);
        request->target = NULL;
        finish(request);
        return;
    }
    request->target = NULL;
    wait_for_helper(request, STEP_APPLY, helper_apply(wish->attachment->tid, wish->attachment->start, &wish->grant->plan, request->json.fd));
}

static void adopt_target(struct request *request)
{
    struct wish *wish = request->wish;
    wish->attachment = request->target;
    wish->exited = false;
    if (!attachment_watch(wish->attachment)) {
        say(request, ATTACH_FAIL, "thread %d cannot be watched: %s", (int)wish->attachment->tid, strerror(errno));
        blame(request, "broker", false);
        request->target = NULL;
        attachment_end(wish);
        finish(request);
        return;
    }
    apply(request);
}

static void detach(struct request *request)
{
    const struct attachment *attachment = request->wish->attachment;
    wait_for_helper(request, STEP_DETACH, helper_restore(attachment->tid, attachment->start, &attachment->former));
}

/* Makes the kernel follow the grant: which thread is attached, which should be? */
static void settle_thread(struct request *request)
{
    struct wish *wish = request->wish;
    struct attachment *now = wish->attachment;
    bool by_file = request->outcome.kind == ATTACH;
    pid_t wanted = by_file ? request->spec.attach : now != NULL && now->by_file ? now->tid : wish->grant->spec.attach;
    struct identity identity;
    if (wanted == 0 && now == NULL) {
        if (!record(request) && request->outcome.kind == CREATE) {
            say(request, SCHEDULE_FAIL, "the broker cannot write its state: %s", strerror(errno));
            blame(request, "broker", false);
            grant_unbook(wish, true);
        }
        finish(request);
        return;
    }
    if (now != NULL && wanted == now->tid && thread_identify(wanted, &identity) && identity.start == now->start) {
        apply(request);
        return;
    }
    if (wanted != 0) {
        request->target = look_at_target(request, wanted, by_file);
        if (request->target == NULL)
            blame(request, "broker", true);
    }
    if (now == NULL && request->target == NULL)
        finish(request);
    else if (now != NULL) /* and even if the other is not to be had: the file no longer names this one */
        detach(request);
    else
        adopt_target(request);
}

static void release_done(struct request *request)
{
    struct wish *wish = request->wish;
    struct event event = {.stage = "release", .user = wish->user, .name = wish->name, .request = "release", .decision = "ok",
                          .plugin = wish->grant == NULL ? NULL : plugin_line(wish->grant->plugin)->name,
                          .token = wish->token[0] == '\0' ? NULL : wish->token,
                          .microseconds = (monotonic_now() - request->started) / 1000};
    grant_unbook(wish, true);
    (void)state_gone(wish);
    if (wish->judged_tid.inode != 0)
        spool_remove(wish->user, wish->name, ".tid", wish->judged_tid.inode);
    spool_remove(wish->user, wish->name, ".verdict", 0);
    event_write(&event);
    wish->judged = wish->judged_tid = (struct stamp){0};
    wish->token[0] = '\0';
    drop_request(request);
    wish_examine(wish);
}

static void detached(struct request *request, const struct helper_event *event)
{
    struct wish *wish = request->wish;
    if (event->answer == HELPER_NO)
        event_broker("error", "thread %d was not restored: %.400s", (int)wish->attachment->tid, event->reason);
    attachment_end(wish);
    request->recorded = false;
    if (request->outcome.kind == RELEASE)
        release_done(request);
    else if (request->target != NULL)
        adopt_target(request);
    else
        finish(request);
}

static void applied(struct request *request, const struct helper_event *event)
{
    struct wish *wish = request->wish;
    if (event->answer == HELPER_OK) {
        finish(request);
        return;
    }
    bool changed = request->old != NULL && request->outcome.kind == CHANGE;
    request->recorded = false;
    if (event->answer == HELPER_GONE) {
        say(request, ATTACH_FAIL, "thread %d has ended", (int)wish->attachment->tid);
        blame(request, "broker", true);
        attachment_end(wish);
        if (wish->grant->spec.lifetime_thread)
            spool_remove(wish->user, wish->name, ".json", wish->judged.inode);
    } else {
        say(request, ATTACH_FAIL, "%.480s", event->reason);
        blame(request, "kernel", false);
        /* The helper has put back what it found: the old grant's attributes under a change of the attached
         * thread, else the former ones. */
        if (changed)
            uncommit(request);
        else
            attachment_end(wish);
    }
    finish(request);
}

void order_helper_event(const struct helper_event *event)
{
    struct adjusting *adjusting;
    struct request *request = take_waiting(&asked_helper, event->id);
    if (request != NULL) {
        if (request->step == STEP_DETACH)
            detached(request, event);
        else
            applied(request, event);
        return;
    }
    HASH_FIND(hh, adjustments, &event->id, sizeof event->id, adjusting);
    if (adjusting == NULL)
        return;
    HASH_DEL(adjustments, adjusting);
    struct wish *wish = wish_of_task(adjusting->task);
    if (event->answer == HELPER_NO)
        event_broker("error", "a thread did not follow its plugin: %.400s", event->reason);
    else if (wish != NULL && adjusting->tell && wish->request == NULL)
        answer_again(wish, UPDATE, "the plugin moved it to make room");
    free(adjusting);
}

/* ---- what the files ask for ---- */

static void judge_identity(struct request *request)
{
    struct account *account = request->wish->user->account;
    if (account->state == ACCOUNT_FAILED) {
        say(request, ACL_FAIL, "the account database did not answer for uid %u", account->uid);
        blame(request, "access", false);
        finish(request);
    } else if (account->uid != 0 && !account_has_gid(account, spool.group) && !acl_names_uid(rules, account->uid)) {
        say(request, ACL_FAIL, "uid %u is no longer a member of the spool's group %u", account->uid, spool.group);
        blame(request, "access", true);
        finish(request);
    } else
        ask_next(request);
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
    struct request *request = begin(wish, wish->recovered ? RECOVER : wish->grant != NULL ? CHANGE : CREATE);
    char reason[REASON_BYTES];
    wish->recovered = false;
    request->json = *json;
    if (wish->over_limit) {
        say(request, ACL_FAIL, "you have %d wishes already, the most that a user may have here", max_wishes);
        blame(request, "broker", false);
    } else if (json->state == FILE_BAD)
        say(request, BAD_SPEC, "%s.json %s", wish->name, json->reason);
    else if (!spec_parse(json->text, json->length, &request->spec, reason))
        say(request, BAD_SPEC, "%s.json: %.440s", wish->name, reason);
    else {
        request->has_spec = true;
        if (request->spec.attach == 0 || spool_stamp(wish->user, wish->name, ".tid").inode == 0) {
            identify(request);
            return;
        }
        say(request, BAD_SPEC, "%s.json: key \"attach\" and the file %s.tid both name a thread; one of them must go", wish->name, wish->name);
    }
    if (!wish->over_limit)
        blame(request, "spec", true);
    finish(request);
}

static void judge_tid(struct wish *wish, struct file *json, struct file *tid)
{
    struct request *request = begin(wish, tid->state == FILE_ABSENT ? DETACH : ATTACH);
    pid_t thread = 0;
    request->json = *json;
    request->tid = *tid;
    if (request->outcome.kind == DETACH) {
        say(request, RESULT_OK, "detached");
        if (wish->attachment != NULL && wish->attachment->by_file)
            detach(request);
        else
            finish(request);
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
        settle_thread(request);
        return;
    }
    blame(request, request->outcome.result == BAD_SPEC ? "spec" : "broker", true);
    finish(request);
}

static void begin_release(struct wish *wish)
{
    struct request *request = begin(wish, RELEASE);
    if (wish->attachment != NULL)
        detach(request);
    else
        release_done(request);
}

/* The attached thread is gone: nothing is left to restore. */
static void thread_ended(struct wish *wish)
{
    char reason[80];
    struct attachment *attachment = wish->attachment;
    bool ends = wish->grant != NULL && wish->grant->spec.lifetime_thread;
    wish->exited = false;
    if (attachment == NULL)
        return;
    snprintf(reason, sizeof reason, "thread %d has ended", (int)attachment->tid);
    if (attachment->by_file)
        spool_remove(wish->user, wish->name, ".tid", wish->judged_tid.inode);
    attachment_end(wish);
    wish->judged_tid = (struct stamp){0};
    if (ends) {
        spool_remove(wish->user, wish->name, ".json", wish->judged.inode);
        return; /* without its file, the wish is released */
    }
    (void)state_wish(wish);
    answer_again(wish, EXIT, reason);
}

void order_thread_ended(struct attachment *attachment)
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

void begin_recover(struct wish *wish)
{
    struct request *request = begin(wish, RECOVER);
    spool_file_open(wish->user, wish->name, ".json", &wish->judged, &request->json);
    if (request->json.fd < 0) { /* it is being released */
        drop_request(request);
        wish_examine(wish);
        return;
    }
    say(request, RESULT_OK, "thread %d is attached again", (int)wish->attachment->tid);
    wait_for_helper(request, STEP_APPLY, helper_apply(wish->attachment->tid, wish->attachment->start, &wish->grant->plan, request->json.fd));
}

static bool nothing_is_left(const struct wish *wish)
{
    return wish->judged.inode == 0 && wish->judged_tid.inode == 0 && wish->grant == NULL && wish->attachment == NULL && wish->busy_watch < 0;
}

static void forget_if_empty(struct wish *wish)
{
    struct user *user = wish->user;
    if (!nothing_is_left(wish))
        return;
    wish_forget(wish);
    if (user->gone && user->wishes == NULL)
        spool_user_close(user);
}

void wish_examine(struct wish *wish)
{
    struct file json, tid;
    if (wish->request != NULL) {
        wish->dirty = true;
        return;
    }
    if (wish->exited)
        thread_ended(wish);
    spool_file_open(wish->user, wish->name, ".json", &wish->judged, &json);
    if (json.state == FILE_BUSY && spool_watch_busy(wish, ".json")) {
        spool_file_close(&json); /* its writer will close it */
        return;
    }
    if (json.state == FILE_BUSY) { /* closed in this very moment */
        spool_file_close(&json);
        spool_file_open(wish->user, wish->name, ".json", &wish->judged, &json);
    }
    if (json.state == FILE_ABSENT && wish->judged.inode != 0) {
        begin_release(wish);
        return;
    }
    if (json.state == FILE_READ || json.state == FILE_BAD)
        if (!stamp_equal(&json.stamp, &wish->judged)) {
            judge_json(wish, &json);
            return;
        }
    spool_file_open(wish->user, wish->name, ".tid", &wish->judged_tid, &tid);
    bool busy = tid.state == FILE_BUSY && spool_watch_busy(wish, ".tid");
    if (!busy && !stamp_equal(&tid.stamp, &wish->judged_tid)) {
        judge_tid(wish, &json, &tid);
        return;
    }
    spool_file_close(&tid);
    spool_file_close(&json);
    forget_if_empty(wish);
}

/* ---- new rules ---- */

static void charge_again(struct acl *acl, const struct user *user, int plugin, struct charge *charge)
{
    uint64_t amount = charge->amount;
    free(charge->counters); /* they go with the old rules */
    acl_charge(acl, user->account, plugin, amount, charge);
}

void order_new_rules(struct acl *acl)
{
    for (struct wish *wish = tasks; wish != NULL; wish = wish->hh_task.next) {
        struct request *request = wish->request;
        if (wish->grant != NULL)
            charge_again(acl, wish->user, wish->grant->plugin, &wish->grant->charge);
        if (request != NULL && request->hold.amount != 0)
            charge_again(acl, wish->user, request->plugin, &request->hold);
        if (request != NULL && request->partial != NULL)
            charge_again(acl, wish->user, request->partial->plugin, &request->partial->charge);
    }
    acl_free(rules);
    rules = acl;
    acl_report_overdrawn(acl);
}
