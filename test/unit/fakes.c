#include "fakes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "acl.h"
#include "attach.h"
#include "attachments.h"
#include "cgroup.h"
#include "directories.h"
#include "execve.h"
#include "guard.h"
#include "loop.h"
#include "memory.h"
#include "names.h"
#include "owner.h"
#include "readers.h"
#include "reconcile.h"
#include "reservations.h"
#include "shares.h"
#include "spool.h"
#include "status-file.h"
#include "thread-events.h"
#include "told.h"
#include "unit.h"
#include "verdict.h"
#include "wait-queue.h"
#include "zero-lag-wait.h"

static struct request *note_edge(struct request *request);

/* The state machine itself (pipeline.c), compiled in here, so that each edge that a request passes
 * is noted. A step calls begin(request) when it begins. */
#define begin(request) begin(note_edge(request))
#include "../../libexec/broker/pipeline.c" /* NOLINT(bugprone-suspicious-include) */
#undef begin

/* ---- edges ---- */

static bool passed[STEPS][STEPS];
static struct {
    const struct request *request;
    enum step step;
} under_way[16];
enum { UNDER_WAY = sizeof under_way / sizeof *under_way };

static bool is_edge(enum step from, enum step to)
{
    for (int result = 0; result < STEP_RESULTS; result++)
        if (pipeline_follows(from, (enum step_result)result) == to)
            return true;
    return false;
}

static struct request *note_edge(struct request *request)
{
    int i = 0;
    while (i < UNDER_WAY && under_way[i].request != request)
        i++;
    for (int j = 0; i == UNDER_WAY && j < UNDER_WAY; j++)
        if (under_way[j].request == NULL)
            i = j;
    assert_true(i < UNDER_WAY);
    const enum step to = request->step;
    enum step from = under_way[i].request == NULL ? STEP_BEGUN : under_way[i].step;
    if (from == STEP_ROOM && !is_edge(from, to))
        from = STEP_BEGUN; /* zero_lag_wait_cancel has ended the former request */
    check(is_edge(from, to), "from %s to %s", step_name(from), step_name(to));
    passed[from][to] = true;
    under_way[i].request = to >= STEP_ANSWER ? NULL : request;
    under_way[i].step = to;
    return request;
}

static void forget_those_that_are_no_more(void)
{
    memset(under_way, 0, sizeof under_way);
}

void all_edges_are_passed(const enum step *from, int count)
{
    for (int i = 0; i < count; i++)
        for (int to = 0; to < STEPS; to++)
            check(to == STEP_BEGUN || !is_edge(from[i], (enum step)to) || passed[from[i]][to],
                  "no test goes from %s to %s", step_name(from[i]), step_name((enum step)to));
}

const char *step_name(enum step step)
{
    static const char *const names[] = {"BEGUN",   "ACCOUNT", "CHOOSE", "TURN",        "CLAIM",
                                        "ACCEPT",  "PROBE",   "JUDGE",  "NEXT_PLUGIN", "SCHEDULE",
                                        "REFUSED", "ROOM",    "ROUND",  "ENFORCE",     "SHARE",
                                        "DEBT",    "RECORD",  "APPLY",  "BIND",        "GIVE",
                                        "DETACH",  "LEAVE",   "ANSWER", "RELEASE",     "LOOK_AGAIN",
                                        "no step"};
    _Static_assert(sizeof names / sizeof *names == STEPS + 1, "each step has a name");
    return names[step];
}

enum step step_of(const struct reservation *reservation)
{
    return reservation->request == NULL ? STEPS : reservation->request->step;
}

/* ---- the kernel ---- */

struct fake_thread thread, leader;

static const struct fake_thread ordinary = {.is_there = true,
                                            .is_readable = true,
                                            .has_group = true,
                                            .can_be_watched = true,
                                            .pidfd = -1,
                                            .identity = {.tid = 4711,
                                                         .process = 4711,
                                                         .start = 100,
                                                         .started_by = 100,
                                                         .real_uid = 20021,
                                                         .effective_uid = 20021,
                                                         .saved_uid = 20021,
                                                         .files_uid = 20021}};

/* The linker redirects calls of the real functions to these: --wrap in rules.mk. */
int fake_thread_find(pid_t tid, bool with_start,
                     struct identity *identity) __asm__("__wrap_thread_find");
bool fake_thread_look(pid_t tid, struct identity *identity) __asm__("__wrap_thread_look");
bool fake_thread_is(pid_t tid, uint64_t started_by) __asm__("__wrap_thread_is");
bool fake_thread_attributes(pid_t tid,
                            struct attributes *attributes) __asm__("__wrap_thread_attributes");
bool fake_thread_has_ended(int pidfd) __asm__("__wrap_thread_has_ended");
int64_t fake_thread_started(const struct identity *identity) __asm__("__wrap_thread_started");
uint64_t fake_attach_given(struct message *message) __asm__("__wrap_attach_given");
bool real_attachment_watch(struct attachment *attachment) __asm__("__real_attachment_watch");
bool fake_attachment_watch(struct attachment *attachment) __asm__("__wrap_attachment_watch");
bool fake_attachment_keep_watch(struct attachment *attachment, int watch,
                                bool armed) __asm__("__wrap_attachment_keep_watch");
bool fake_reservation_record(struct reservation *reservation) __asm__("__wrap_reservation_record");
bool fake_journal_gone(const struct reservation *reservation) __asm__("__wrap_journal_gone");
bool fake_account_ready(struct account *account) __asm__("__wrap_account_ready");
uint64_t fake_allocator_finish(enum kept kept,
                               struct message *message) __asm__("__wrap_allocator_finish");

static struct fake_thread *by_tid(pid_t tid)
{
    return tid == leader.identity.tid ? &leader : &thread;
}

int fake_thread_find(pid_t tid, bool with_start, struct identity *identity)
{
    struct fake_thread *found = by_tid(tid);
    (void)with_start;
    *identity = found->identity;
    found->pidfd = found->is_there ? eventfd(0, EFD_CLOEXEC) : -1;
    errno = ESRCH;
    return found->pidfd;
}

bool fake_thread_look(pid_t tid, struct identity *identity)
{
    *identity = by_tid(tid)->identity;
    return by_tid(tid)->is_there;
}

bool fake_thread_is(pid_t tid, uint64_t started_by)
{
    const struct fake_thread *found = by_tid(tid);
    errno = ESRCH;
    return found->is_there && started_by == found->identity.started_by;
}

bool fake_thread_attributes(pid_t tid, struct attributes *attributes)
{
    struct fake_thread *found = by_tid(tid);
    *attributes = found->now;
    errno = found->transient > 0 ? ENOMEM : ESRCH;
    return found->transient-- <= 0 && found->is_there && found->is_readable;
}

bool fake_thread_has_ended(int pidfd)
{
    return pidfd == leader.pidfd ? leader.is_over : thread.is_over;
}

/* The time before all files, unless the test sets another. */
int64_t fake_thread_started(const struct identity *identity)
{
    return (int64_t)identity->start;
}

bool thread_group(enum cgroups which, const char *controller, pid_t tid,
                  char group[static GROUP_BYTES])
{
    (void)which;
    (void)controller;
    (void)tid;
    snprintf(group, GROUP_BYTES, "/");
    errno = EAGAIN;
    return thread.has_group;
}

bool fake_attachment_watch(struct attachment *attachment)
{
    return thread.can_be_watched && real_attachment_watch(attachment);
}

bool fake_attachment_keep_watch(struct attachment *attachment, int watch, bool armed)
{
    (void)attachment;
    (void)watch;
    (void)armed;
    return thread.can_be_watched;
}

/* A program that tests execve.c or thread-events.c is linked with the real functions of these
 * files. They replace the next four. */
__attribute__((weak)) bool leader_is_alike(const struct identity *identity)
{
    (void)identity;
    return thread.is_real_time_by_others;
}

__attribute__((weak)) void execve_former(const struct identity *identity, struct attributes *former)
{
    (void)identity;
    (void)former;
}

__attribute__((weak)) bool execve_exec(const struct reservation *reservation)
{
    (void)reservation;
    return false;
}

__attribute__((weak)) void thread_events_look(struct reservation *reservation)
{
    reservation->pending_changes &= (unsigned char)~THREAD_CHANGED;
}

/* ---- the helpers ---- */

const char *helper_op;
struct fake_order helper_order;
static uint64_t last_id;
static struct message *allocators_were_told[64]; /* the helper owns these messages */
static int allocators_count;

static uint64_t tell_helper(const char *op)
{
    helper_op = op;
    helper_order = (struct fake_order){.id = ++last_id};
    return last_id;
}

static uint64_t tell_helper_about(const char *op, const struct attachment *attachment)
{
    (void)tell_helper(op);
    helper_order.tid = attachment->tid;
    helper_order.former = attachment->former;
    return helper_order.id;
}

uint64_t attach_apply(struct attachment *attachment, const struct grant *grant, int reservation_fd)
{
    (void)grant;
    (void)reservation_fd;
    attachment->scheduled = true;
    return tell_helper_about("apply", attachment);
}

uint64_t attach_apply_again(struct attachment *attachment, const struct grant *grant)
{
    (void)grant;
    return tell_helper_about("apply again", attachment);
}

uint64_t attach_restore(struct attachment *attachment)
{
    return tell_helper_about("restore", attachment);
}

uint64_t attach_watch(const struct attachment *attachment)
{
    return tell_helper_about("watch", attachment);
}

uint64_t attach_budget(struct attachment *attachment, const struct grant *grant)
{
    (void)grant;
    return tell_helper_about("budget", attachment);
}

uint64_t attach_count(const struct attachment *attachment, const struct grant *grant)
{
    (void)grant;
    return tell_helper_about("count", attachment);
}

uint64_t fake_allocator_finish(enum kept kept, struct message *message)
{
    (void)kept;
    assert_true(allocators_count <
                (int)(sizeof allocators_were_told / sizeof *allocators_were_told));
    allocators_were_told[allocators_count++] = message;
    return tell_helper("allocator");
}

uint64_t fake_attach_given(struct message *message)
{
    assert_true(allocators_count <
                (int)(sizeof allocators_were_told / sizeof *allocators_were_told));
    allocators_were_told[allocators_count++] = message;
    return tell_helper("give");
}

struct fake_guard guarded;

void guard_begin(struct attachment *attachment, const struct grant *grant, int event, bool again)
{
    (void)attachment;
    (void)grant;
    guarded = (struct fake_guard){.count = guarded.count + 1, .event = event, .again = again};
}

void guard_look_at(const struct attachment *attachment)
{
    (void)attachment;
}

void guard_yield(void)
{
}

void guard_rise(void)
{
}

/* ---- accounts, the reader, the journal ---- */

bool journal_works, account_is_known;
int looks, records;
bool looks_for_the_whole;
struct account owner_account = {.uid = 20021};
struct user owner = {.name = "20021", .uid = 20021, .account = &owner_account};

bool fake_account_ready(struct account *account)
{
    (void)account;
    return account_is_known;
}

bool fake_reservation_record(struct reservation *reservation)
{
    (void)reservation;
    records++;
    errno = ENOSPC;
    return journal_works;
}

bool fake_journal_gone(const struct reservation *reservation)
{
    (void)reservation;
    return journal_works;
}

const char *removed;

void reader_remove(struct user *user, const char *name, const char *file,
                   const struct stamp *judged)
{
    (void)user;
    (void)name;
    (void)judged;
    removed = file;
}

void reader_done(struct user *user, const char *name)
{
    (void)user;
    (void)name;
}

void reader_look(struct user *user, const char *name, bool whole)
{
    (void)user;
    (void)name;
    looks++;
    looks_for_the_whole = whole;
}

void readers_flush(void)
{
}

void reader_release(struct user *user, const char *name, const char *why)
{
    (void)user;
    (void)name;
    (void)why;
    verdict.kind = RELEASE;
    verdict.count++;
}

struct user *users_first(void)
{
    return NULL;
}

struct user *user_find(const char *name)
{
    return strcmp(name, owner.name) == 0 ? &owner : NULL;
}

void user_close(struct user *user)
{
    (void)user;
}

/* ---- the owner ---- */

struct fake_verdict verdict;
struct fake_retold retold;
uint64_t codes_told;

void verdict_tell(struct reservation *reservation, const struct outcome *outcome,
                  int64_t microseconds, bool answers, bool more)
{
    (void)reservation;
    (void)microseconds;
    (void)answers;
    (void)more;
    verdict = (struct fake_verdict){.count = verdict.count + 1,
                                    .kind = outcome->kind,
                                    .result = outcome->result,
                                    .refusal = outcome->refusal,
                                    .would_grant = outcome->would_grant != NULL,
                                    .ended = outcome->ended};
    snprintf(verdict.reason, sizeof verdict.reason, "%s", outcome->reason);
    if (outcome->refusal.by[0] != '\0')
        codes_told |= UINT64_C(1) << outcome->refusal.code;
}

void verdict_again(struct reservation *reservation, enum kind kind, const char *reason)
{
    (void)reservation;
    retold.count++;
    retold.kind = kind;
    snprintf(retold.reason, sizeof retold.reason, "%s", reason);
}

json_t *verdict_grant(const struct grant *grant)
{
    (void)grant;
    return NULL;
}

const char *ended_name(enum ended ended)
{
    (void)ended;
    return "";
}

void status_refused(void)
{
}

static uint64_t inode = 1;

static struct stamp new_stamp(void)
{
    return (struct stamp){.inode = ++inode, .changed = realtime_now()};
}

static struct reservation *tells(const char *of, struct snapshot snapshot)
{
    char name[NAME_BYTES]; /* `of` may point into a reservation that is freed */
    snprintf(name, sizeof name, "%s", of);
    struct reservation *reservation = reservation_find(&owner, name, true);
    assert_null(reservation->snapshot);
    reservation->snapshot = allocate(sizeof *reservation->snapshot);
    *reservation->snapshot = snapshot;
    reservation->json.fd = 0; /* an open file whose content is not read */
    reservation->expected = EXPECT_NOTHING;
    verdict = (struct fake_verdict){0};
    reconcile_examine(reservation);
    return reservation_find(&owner, name, false);
}

/* A snapshot in which the present files count as judged. */
static struct snapshot as_judged(const char *name)
{
    const struct reservation *reservation = reservation_find(&owner, name, true);
    struct snapshot snapshot = {0};
    if (reservation->judged.inode != 0)
        snapshot.json = (struct file){.state = FILE_SAME, .stamp = reservation->judged};
    if (reservation->judged_tid.inode != 0)
        snapshot.tid = (struct file){.state = FILE_SAME, .stamp = reservation->judged_tid};
    snapshot.thread = thread.identity.tid;
    return snapshot;
}

struct spec tenth(const char *plugin)
{
    return (struct spec){.runtime = SECOND / 10,
                         .period = SECOND,
                         .plugin = plugin == NULL ? NULL : strdup(plugin)};
}

struct spec spec_of(const char *plugin, uint64_t runtime, uint64_t desired)
{
    struct spec spec = tenth(plugin);
    spec.runtime = runtime;
    spec.desired_runtime = desired;
    return spec;
}

struct spec spec_with(enum resource resource, uint64_t amount)
{
    struct spec spec = {0};
    claims_push(&spec.claims, resource)->values[0] = amount;
    return spec;
}

struct reservation *writes(const char *name, struct spec spec)
{
    struct snapshot snapshot = as_judged(name);
    snapshot.json = (struct file){.state = FILE_READ, .stamp = new_stamp()};
    snapshot.spec = spec;
    return tells(name, snapshot);
}

struct reservation *writes_nonsense(const char *name, const char *why)
{
    struct snapshot snapshot = as_judged(name);
    snapshot.json = (struct file){.state = FILE_BAD, .stamp = new_stamp()};
    snprintf(snapshot.json.reason, sizeof snapshot.json.reason, "%s", why);
    return tells(name, snapshot);
}

struct reservation *writes_tid(const char *name)
{
    struct snapshot snapshot = as_judged(name);
    snapshot.tid = (struct file){.state = FILE_READ, .stamp = new_stamp()};
    return tells(name, snapshot);
}

void removes_tid(struct reservation *reservation)
{
    struct snapshot snapshot = as_judged(reservation->name);
    snapshot.tid = (struct file){0};
    (void)tells(reservation->name, snapshot);
}

void removes(struct reservation *reservation)
{
    struct snapshot snapshot = as_judged(reservation->name);
    snapshot.json = (struct file){0};
    (void)tells(reservation->name, snapshot);
}

void is_looked_at(struct reservation *reservation)
{
    (void)tells(reservation->name, as_judged(reservation->name));
}

/* ---- answers ---- */

static uint64_t asked(const struct reservation *reservation)
{
    check(reservation->request != NULL && reservation->request->answer_id != 0,
          "nothing was asked: at %s", step_name(step_of(reservation)));
    return reservation->request->answer_id;
}

void plugin_offers(const struct reservation *reservation, enum answer answer, uint64_t runtime)
{
    const struct plugin_line *line = plugin_line(reservation->request->inquiry.plugin);
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &line->cpus))
        cpu++;
    plugin_offers_on(reservation, answer, runtime, cpu);
}

void plugin_offers_on(const struct reservation *reservation, enum answer answer, uint64_t runtime,
                      int cpu)
{
    const struct spec *spec = &reservation->request->spec;
    const struct plugin_line *line = plugin_line(reservation->request->inquiry.plugin);
    struct plugin_event event = {.kind = PLUGIN_ANSWER,
                                 .id = asked(reservation),
                                 .answer = answer,
                                 .reason = "it has room"};
    event.plan =
        (struct attributes){.policy = line->deadline ? POLICY_DEADLINE : POLICY_FIFO,
                            .priority = line->deadline ? 0 : line->lowest,
                            .runtime = runtime,
                            .period = spec->period,
                            .deadline = spec->deadline != 0 ? spec->deadline : spec->period};
    CPU_SET((size_t)cpu, &event.plan.cpus);
    pipeline_plugin_answered(&event);
}

void plugin_answers(const struct reservation *reservation, enum answer answer, uint64_t nearest,
                    bool never)
{
    const struct plugin_event event = {.kind = PLUGIN_ANSWER,
                                       .id = asked(reservation),
                                       .answer = answer,
                                       .nearest = nearest,
                                       .never = never,
                                       .reason = "so it says"};
    pipeline_plugin_answered(&event);
}

void plugin_wants_more(const struct reservation *reservation, uint64_t least, uint64_t most)
{
    const struct plugin_event event = {.kind = PLUGIN_ANSWER,
                                       .id = asked(reservation),
                                       .answer = ANSWER_NO,
                                       .nearest = most,
                                       .nearest_minimum = least,
                                       .never = true,
                                       .reason = "it is too small"};
    pipeline_plugin_answered(&event);
}

void helper_answers(const struct reservation *reservation, enum helper_answer answer, int64_t after)
{
    const struct helper_event event = {.id = asked(reservation),
                                       .answer = answer,
                                       .after = after,
                                       .watch = -1,
                                       .reason = "the kernel does not"};
    assert_true(pipeline_helper_answered(&event));
}

struct reservation *has_grant(const char *name)
{
    struct reservation *reservation = writes(name, tenth("EDF"));
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    assert_non_null(reservation->grant);
    assert_int_equal(step_of(reservation), STEPS);
    return reservation;
}

struct reservation *has_thread(const char *name)
{
    struct reservation *reservation = has_grant(name);
    (void)writes_tid(name);
    assert_int_equal(step_of(reservation), STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
    assert_non_null(reservation->attachment);
    return reservation;
}

/* ---- what a test expects ---- */

void is_at(const struct reservation *reservation, enum step step)
{
    check(step_of(reservation) == step, "at %s instead of %s: %s", step_name(step_of(reservation)),
          step_name(step), verdict.reason);
}

void is_granted(const struct reservation *reservation)
{
    is_at(reservation, STEPS);
    check(verdict.result == RESULT_OK && reservation->grant != NULL, "%s", verdict.reason);
}

void is_refused(const struct reservation *reservation, enum why code, bool never)
{
    is_at(reservation, STEPS);
    assert_null(reservation->grant);
    check(verdict.refusal.code == code && verdict.refusal.never == never, "%d, never %d: %s",
          (int)verdict.refusal.code, verdict.refusal.never, verdict.reason);
}

/* ---- begin and end of a test ---- */

static void nothing_happens(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
}

static void nothing_is_due(struct timer *timer)
{
    (void)timer;
}

void rules_are(const char *text)
{
    char reason[REASON_BYTES];
    struct acl *fresh = acl_load(file_with(text), reason);
    check(fresh != NULL, "%s", reason);
    if (rules != NULL)
        acl_free(rules);
    rules = fresh;
}

int fakes_set_up(void **state)
{
    static const struct attachment_calls calls = {.ended = nothing_happens,
                                                  .watched = nothing_happens,
                                                  .to_watch = nothing_is_due,
                                                  .doubt = nothing_is_due};
    (void)state;
    plugins_are(
        "EDF sh - 0-1 partition=unthrottled threshold=0.9\nLOW sh 1-10 0-1\nLATE sh - 2-3 partition=unthrottled\nNEXT sh - 2-3 partition=unthrottled\n"
        "NET sh - - resource=network interface=eth0 rate=100Mbit\nIO sh - - resource=disk device=sda throughput=1MB\nUNITS sh - - resource=units capacity=10\n");
    plugin_says("EDF", "sufficient", false, false);
    plugin_says("LOW", "none", false, false);
    plugin_says("LATE", "exact", true, true);
    plugin_says("NEXT", "exact", true, true);
    plugin_says("NET", "exact", false, false);
    plugin_says("IO", "exact", false, false);
    plugin_says("UNITS", "exact", false, false);
    loop_start();
    attachments_prepare(&calls);
    zero_lag_wait_prepare(pipeline_has_waited);
    queue_init(&owner_account.queue, false);
    TAILQ_INIT(&owner_account.waiting);
    return 0;
}

int fakes_tear_down(void **state)
{
    (void)state;
    acl_free(rules);
    return 0;
}

int fakes_begin(void **state)
{
    (void)state;
    rules_are(
        "20021 - max_utilization 100\n20021 NET max_bandwidth 100Mbit\n20021 IO max_bandwidth 1MB\n20021 UNITS max_amount 10\n");
    thread = leader = ordinary;
    leader.is_there = false;
    leader.identity.tid = leader.identity.process = 4700;
    retold = (struct fake_retold){0};
    guarded = (struct fake_guard){0};
    journal_works = account_is_known = true;
    may_lie = false;
    told_lies = told_count = looks = 0;
    owner_account.state = ACCOUNT_KNOWN;
    clock_now += 10000 * MS; /* all debts are paid back */
    clock_to(clock_now);
    forget_those_that_are_no_more();
    return 0;
}

static void end_request(struct request *request)
{
    timer_end(&request->wait.timer);
    (void)take_waiting_for_plugin(request->answer_id);
    (void)take_waiting_for_helper(request->answer_id);
    while (request->step == STEP_TURN && turn_next() != NULL)
        ;
    request_drop(request);
}

int fakes_end(void **state)
{
    (void)state;
    while (owner.reservations != NULL) {
        struct reservation *reservation = owner.reservations;
        if (reservation->request != NULL)
            end_request(reservation->request); /* the test of this request has failed */
        if (reservation->attachment != NULL)
            attachment_end(reservation);
        grant_unbook(reservation, true);
        shares_follow(reservation);
        reservation_forget(reservation);
    }
    attachments_sweep();
    clock_to(clock_now + 10000 * MS);
    return 0;
}
