#include "recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounting.h"
#include "acl.h"
#include "adjusting.h"
#include "attachments.h"
#include "directories.h"
#include "enforcing.h"
#include "event.h"
#include "follow.h"
#include "grants.h"
#include "guard.h"
#include "home.h"
#include "ledger.h"
#include "memory.h"
#include "names.h"
#include "order.h"
#include "place.h"
#include "rest.h"
#include "scans.h"
#include "spool.h"
#include "state.h"
#include "tasks.h"
#include "threads.h"
#include "turns.h"
#include "wishes.h"

static const char rt_runtime_file[] = "/proc/sys/kernel/sched_rt_runtime_us";
static char former_rt_runtime[24]; /* "": not changed by us */

/* ---- the journal ---- */

static bool journal_afresh(char reason[static REASON_BYTES])
{
    if (!state_begin(reason)) {
        state_abandon();
        return false;
    }
    bool good = former_rt_runtime[0] == '\0' || state_rt_runtime(former_rt_runtime);
    for (const struct wish *wish = wish_first(); good && wish != NULL; wish = wish->hh_task.next)
        if (!wish->over_limit)
            good = state_wish(wish);
    if (!good)
        snprintf(reason, REASON_BYTES, "state/current/journal: %s", strerror(errno));
    if (good && state_commit(reason))
        return true;
    state_abandon();
    return false;
}

static int64_t journal_retry = INT64_MAX;

int64_t journal_deadline(void)
{
    return journal_retry;
}

void journal_tidy(void)
{
    char reason[REASON_BYTES];
    bool again = journal_retry != INT64_MAX;
    if (again ? monotonic_now() < journal_retry : !state_is_behind() && !state_is_bloated())
        return;
    bool good = journal_afresh(reason);
    journal_retry = !good && state_is_behind() ? monotonic_now() + INT64_C(1000000000) : INT64_MAX;
    if (good && again)
        event_broker("ok", "state/current/journal says again what is in force");
    else if (!good && !again) /* once, not at each retry */
        event_broker("error", "%s", reason);
}

/* ---- the kernel-wide setting ---- */

static bool read_rt_runtime(char text[static 24])
{
    FILE *file = fopen(rt_runtime_file, "re");
    bool good = file != NULL && fgets(text, 24, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (good)
        text[strcspn(text, "\n")] = '\0';
    return good;
}

static bool write_rt_runtime(const char *value, char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    (void)helper_rt_runtime(value);
    if (helper_drain(5, &last) && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "sched_rt_runtime_us could not be set to %s: %.300s", value, last.reason);
    return false;
}

/* EBUSY while the kernel still counts SCHED_DEADLINE threads that have just been demoted or have ended: it does until
 * the end of their period, at most 4.2 s. Now and then it says so even to -1, to a broker that follows at once. */
static bool set_rt_runtime(const char *value, char *reason)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    int64_t until = monotonic_now() + INT64_C(5000000000);
    bool good;
    while (!(good = write_rt_runtime(value, reason)) && monotonic_now() < until)
        (void)nanosleep(&pause, NULL);
    return good;
}

static bool set_domains(const cpu_set_t *cpus, char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    (void)helper_domains(cpus, spool.path);
    if (helper_drain(10, &last) && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "scheduling domains: %.400s", last.reason);
    return false;
}

/* The CPUs of partition=cpuset and confine=cpuset. */
static bool make_domains(char *reason)
{
    cpu_set_t cpus;
    plugins_domains(&cpus);
    return CPU_COUNT(&cpus) == 0 || set_domains(&cpus, reason);
}

/* partition=global promises nothing if each attachment fails. */
static bool probe_global(char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        if (!line->deadline || line->partition != PARTITION_GLOBAL)
            continue;
        (void)helper_probe(&line->cpus);
        if (helper_drain(5, &last) && last.answer == HELPER_OK)
            continue;
        snprintf(reason, REASON_BYTES, "plugins.conf:%d: %s cannot have partition=global: %.300s", line->line, line->name, last.reason);
        return false;
    }
    return true;
}

static bool drop_domains(char *reason)
{
    cpu_set_t none;
    CPU_ZERO(&none);
    return set_domains(&none, reason);
}

static bool wants_unthrottled(void)
{
    for (int i = 0; i < plugins_count(); i++)
        if (plugin_line(i)->deadline && plugin_line(i)->partition == PARTITION_UNTHROTTLED)
            return true;
    return false;
}

/* The former value is in the journal before the new one is in the kernel. */
static bool set_kernel(const char *recorded, char *reason)
{
    char now[24];
    snprintf(former_rt_runtime, sizeof former_rt_runtime, "%s", recorded);
    if (!wants_unthrottled()) {
        if (former_rt_runtime[0] != '\0' && !write_rt_runtime(former_rt_runtime, reason))
            event_broker("error", "%s", reason); /* EBUSY while tasks above it run: not worth refusing to serve */
        else
            former_rt_runtime[0] = '\0';
        return true;
    }
    if (!read_rt_runtime(now)) {
        snprintf(reason, REASON_BYTES, "%s: %s", rt_runtime_file, strerror(errno));
        return false;
    }
    if (former_rt_runtime[0] == '\0' && strcmp(now, "-1") != 0)
        snprintf(former_rt_runtime, sizeof former_rt_runtime, "%s", now);
    return journal_afresh(reason) && (strcmp(now, "-1") == 0 || set_rt_runtime("-1", reason));
}

static void restore_kernel(void)
{
    char reason[REASON_BYTES];
    if (former_rt_runtime[0] == '\0')
        return;
    if (set_rt_runtime(former_rt_runtime, reason))
        former_rt_runtime[0] = '\0';
    else
        event_broker("error", "%s", reason);
}

/* ---- taking up ---- */

static struct attachment recorded_attachment(const struct recorded_wish *recorded)
{
    return (struct attachment){.tid = recorded->tid, .process = recorded->process, .started_by = recorded->started_by, .former = recorded->former,
                               .group = recorded->group, .pidfd = -1, .watch = -1};
}

/* A thread that somebody was promised and that nobody answers for any more. */
static void restore_orphan(struct recorded_wish *recorded)
{
    struct helper_event last;
    struct attachment orphan = recorded_attachment(recorded);
    recorded->orphan = recorded->attached && !recorded->laid_down;
    if (!recorded->orphan || attachment_find(recorded->tid) != NULL || !thread_is(recorded->tid, recorded->started_by))
        return;
    (void)helper_restore(&orphan);
    (void)helper_drain(5, &last); /* before it is in no record any more, and before somebody else's wish for it is looked at */
}

/* One that has called execve(2) is told from those of its process only when all are known that somebody answers for. */
static void follow_orphans(const struct recorded_state *state)
{
    struct helper_event last;
    for (int i = 0; i < state->count; i++) {
        struct attachment orphan = recorded_attachment(&state->wishes[i]);
        if (state->wishes[i].orphan && orphan.tid != orphan.process && attachment_is_over(&orphan))
            follow_late(NULL, NULL, &orphan);
    }
    (void)helper_drain(5, &last);
    follow_drained();
}

static void take_up_thread(struct wish *wish, const struct recorded_wish *recorded, bool *apply)
{
    struct identity identity;
    struct attributes now;
    int pidfd = thread_find(recorded->tid, true, &identity);
    bool there = pidfd >= 0 && identity.start <= recorded->started_by;
    if (!there && pidfd >= 0) {
        close(pidfd);
        pidfd = -1;
    }
    if (!there)
        identity = (struct identity){.tid = recorded->tid, .process = recorded->process};
    identity.started_by = recorded->started_by;
    wish->attachment = attachment_new(wish, &identity, pidfd, recorded->by_file, &recorded->former);
    wish->attachment->laid_down = !there && recorded->laid_down; /* then it ended as an ordinary thread */
    wish->attachment->served = !recorded->laid_down;
    wish->attachment->group = recorded->group == NULL ? NULL : strdup(recorded->group);
    if (!there || !attachment_watch(wish->attachment))
        wish->exited = true;
    else if (thread_attributes(recorded->tid, &now)) {
        home_expect(&wish->attachment->presence, &wish->grant->plan);
        if (wish->attachment->group == NULL)
            (void)group_of(recorded->tid, &wish->attachment->group); /* plugins.conf had no domains when it was attached */
        *apply = !attributes_show(&wish->grant->plan, &now) || plugin_line(wish->grant->plugin)->domains;
        /* It was its owner's again meanwhile, and what he made of it is what it has to get back. */
        if (*apply && recorded->laid_down)
            wish->attachment->former = now;
    }
}

static bool take_up_grant(struct wish *wish, const struct recorded_wish *recorded)
{
    char reason[REASON_BYTES];
    struct grant grant = recorded->grant;
    grant.plugin = plugin_index(recorded->plugin);
    if (grant.plugin < 0) {
        event_broker("warning", "plugins.conf has no plugin %s any more: the grant of %s/%s is asked again", recorded->plugin, recorded->user,
                     recorded->name);
        return false;
    }
    grant.utilization = grant_utilization(&grant);
    if (!guard_can_enforce(grant.plugin, &grant.spec, reason) || !plan_is_its_own(grant.plugin, &grant.spec, UINT64_MAX, &grant.plan, reason) || !ledger_fits(&grant, NULL, reason)) {
        event_broker("warning", "the grant of %s/%s does not fit plugins.conf any more and is asked again: %.300s", recorded->user,
                     recorded->name, reason);
        return false;
    }
    struct grant *own = malloc(sizeof *own);
    if (own == NULL)
        abort();
    *own = grant;
    acl_charge(rules, wish->user->account, grant.plugin, acl_weight(&grant.spec, grant.plan.runtime), &own->charge);
    grant_book(wish, own);
    (void)plugin_schedule(grant.plugin, wish->task, own);
    return true;
}

/* Returns true when the kernel does not show what the grant says, and the call has to be made again. */
static bool take_up(struct recorded_wish *recorded, bool same_boot)
{
    bool apply = false;
    struct user *user = user_find(recorded->user);
    /* An account database that is down must not cost anybody his grant: it was judged when it was up. */
    if (user != NULL && !user->adopted && user->account->state == ACCOUNT_FAILED)
        directory_adopt_for_now(user);
    if (user == NULL || !user->adopted) {
        if (same_boot)
            restore_orphan(recorded);
        return false;
    }
    struct wish *wish = wish_find(user, recorded->name, true);
    wish_keep(wish);
    if (wish->grant != NULL) { /* an older record of a name that was moved away and taken anew */
        restore_orphan(recorded);
        return false;
    }
    if (recorded->token[0] != '\0' && (wish->token = strdup(recorded->token)) == NULL)
        abort();
    if (!same_boot) {
        wish->recovered = true; /* asked again, in the order of old */
        return false;
    }
    if (recorded->granted && !take_up_grant(wish, recorded)) {
        restore_orphan(recorded);
        wish->recovered = true;
        return false;
    }
    wish->decided = recorded->time;
    wish->judged = recorded->judged;
    wish->judged_tid = recorded->judged_tid;
    if (recorded->attached && wish->grant != NULL)
        take_up_thread(wish, recorded, &apply);
    return apply;
}

/* Threads of those that go on are watched, and what was granted and does not show is granted once more. */
static void go_on(const struct recorded_wish *recorded, bool apply)
{
    struct user *user = user_find(recorded->user);
    struct wish *wish = user == NULL ? NULL : wish_find(user, recorded->name, false);
    if (wish == NULL)
        return;
    if (apply)
        order_recover(wish, RECOVER, "the thread is attached again");
    else if (wish->attachment != NULL) {
        adjusting_watch(wish);
        adjusting_guard_again(wish);
    }
    if (wish->exited || wish->recovered)
        turns_add(wish, turns_of_old()); /* before what is new: what it gives up can be theirs */
}

bool recover(struct recorded_state *state, char reason[static REASON_BYTES])
{
    bool *apply = allocate((size_t)state->count + 1);
    for (int i = 0; i < state->count; i++)
        tasks_from(state->wishes[i].task);
    for (int i = 0; i < state->count; i++)
        apply[i] = take_up(&state->wishes[i], state->same_boot);
    follow_orphans(state);
    bool good = set_kernel(state->same_boot ? state->rt_runtime : "", reason) && journal_afresh(reason) && place_settle(reason) && make_domains(reason) && probe_global(reason);
    for (int i = 0; good && i < state->count; i++)
        go_on(&state->wishes[i], apply[i]);
    if (!good) {
        char ignored[REASON_BYTES];
        restore_kernel();
        (void)drop_domains(ignored);
    }
    free(apply);
    return good;
}

/* ---- laying down ---- */

static bool restore_all(void)
{
    struct helper_event last;
    for (struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next) {
        if (wish->attachment == NULL)
            continue;
        if (attachment_is_over(wish->attachment)) {
            rest_begin(wish, wish->grant);
            rest_of_thread(wish);
        }
        (void)helper_restore(wish->attachment);
        wish->attachment->laid_down = true;
    }
    bool answered = helper_drain(10, &last);
    /* By now each is ordinary, or its id is over. */
    for (const struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next)
        if (wish->attachment != NULL && wish->attachment->tid != wish->attachment->process && attachment_is_over(wish->attachment))
            follow_to_the_end(wish->user, wish->name, wish->attachment);
    return helper_drain(10, &last) && answered;
}

/* Whoever makes domains anew, us or the next broker, before the kernel has taken such bandwidth out of its account makes it
 * take more out of a domain than is in: that wraps around, and every SCHED_DEADLINE thread is refused there (measured on 6.18). */
static void wait_for_kernel(int64_t owed)
{
    const int64_t most = INT64_C(5000000000), rests = rest_last_in_kernel() - monotonic_now(), wait = rests < most ? rests : most;
    const int64_t longer = owed > wait ? owed : wait;
    const struct timespec pause = {.tv_sec = longer / 1000000000, .tv_nsec = longer % 1000000000};
    if (longer > 0)
        (void)nanosleep(&pause, NULL);
}

void lay_down(void)
{
    struct helper_event last;
    (void)helper_owed();          /* at the start */
    (void)helper_drain(5, &last); /* what is under way comes first, or it would undo what follows */
    bool answered = restore_all();
    const int64_t owed = helper_owed();
    wait_for_kernel(owed);
    if (answered && owed > 0)
        answered = restore_all(); /* those that had to stay in their domains until now */
    if (!answered)
        event_broker("error", "the attach helper did not answer: some threads may still be real-time");
    restore_kernel();
    char reason[REASON_BYTES];
    if (!drop_domains(reason))
        event_broker("error", "%s", reason);
    if (wish_first() == NULL && former_rt_runtime[0] == '\0')
        place_leave();
    else if (!journal_afresh(reason))
        event_broker("error", "%s", reason);
}

void leave_in_force(void)
{
    struct helper_event last;
    (void)helper_drain(5, &last);
    (void)state_left();
}

bool put_back_kernel(char reason[static REASON_BYTES])
{
    struct recorded_state state;
    if (!state_read(&state, reason))
        return false;
    bool good = true;
    if (state.same_boot && state.rt_runtime[0] != '\0' && !state.left_in_force)
        good = set_rt_runtime(state.rt_runtime, reason) && (!state_reopen() || state_rt_runtime(""));
    if (!state.left_in_force)
        good = drop_domains(reason) && good;
    state_free(&state);
    return good;
}
