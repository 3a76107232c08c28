#include "recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounting.h"
#include "acl.h"
#include "adjustments.h"
#include "attachments.h"
#include "directories.h"
#include "target-thread.h"
#include "event.h"
#include "execve.h"
#include "given-extras.h"
#include "grants.h"
#include "guard.h"
#include "placement.h"
#include "expiry.h"
#include "ledger.h"
#include "resource-cpu.h"
#include "memory.h"
#include "names.h"
#include "shares.h"
#include "reconcile.h"
#include "place.h"
#include "debts.h"
#include "readers.h"
#include "scans.h"
#include "spool.h"
#include "journal.h"
#include "tasks.h"
#include "tick.h"
#include "thread-events.h"
#include "fair-queue.h"
#include "wait-queue.h"
#include "reservations.h"

/* ---- the journal ---- */

static bool journal_afresh(char reason[static REASON_BYTES])
{
    if (!journal_begin(reason)) {
        journal_abandon();
        return false;
    }
    bool good = true;
    for (const struct reservation *reservation = reservation_first(); good && reservation != NULL;
         reservation = reservation_next(reservation))
        if (reservation->state != RESERVATION_OVER_LIMIT)
            good = journal_reservation(reservation);
    if (!good)
        snprintf(reason, REASON_BYTES, "%s/%s: %s", place_path(), place_journal, strerror(errno));
    if (good && journal_commit(reason))
        return true;
    journal_abandon();
    return false;
}

static const int64_t journal_pause = INT64_C(1000000000); /* ns */

static void try_again(struct timer *timer)
{
    char reason[REASON_BYTES];
    if (journal_afresh(reason))
        event_broker("ok", "state/current/journal is written again");
    else if (journal_is_behind())
        timer_set(timer, monotonic_now() + journal_pause);
}

void journal_tidy(void)
{
    static struct timer retry = {.due = try_again};
    char reason[REASON_BYTES];
    if (retry.at != 0 || (!journal_is_behind() && !journal_is_bloated()) || journal_afresh(reason))
        return;
    event_broker("error", "%s", reason); /* the retries add no line to the log */
    if (journal_is_behind())
        timer_set(&retry, monotonic_now() + journal_pause);
}

/* ---- the kernel-wide setting ---- */

/* Sets sched_rt_runtime_us; tries again for `patience` ns. The kernel answers EBUSY while it still
 * counts SCHED_DEADLINE threads that have just been demoted or have ended: until the end of their
 * period, at most 4.2 s. If a broker starts right after another one, the kernel sometimes answers
 * EBUSY even to the value -1, which lifts the limit. */
static bool set_rt_limit(bool lifted, int64_t patience, char *reason)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    struct helper_event last = {.reason = "sched_rt_runtime_us: the attach helper does not answer"};
    for (int64_t until = monotonic_now() + patience;; (void)nanosleep(&pause, NULL)) {
        (void)attach_setting(SETTING_RT_LIMIT, lifted, spool.path);
        if (attach_drain(5, &last) && last.answer == HELPER_OK)
            return true;
        if (monotonic_now() >= until)
            break;
    }
    snprintf(reason, REASON_BYTES, "%.400s", last.reason);
    return false;
}

static const int64_t kernel_counts = INT64_C(5000000000); /* ns */

static bool set_hrtick(bool on, char *reason)
{
    struct helper_event last = {.reason = "the attach helper does not answer"};
    (void)attach_setting(SETTING_HRTICK, on, spool.path);
    if (attach_drain(5, &last) && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "%.400s", last.reason);
    return false;
}

static bool set_domains(const cpu_set_t *cpus, char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    (void)attach_domains(cpus, spool.path);
    if (attach_drain(10, &last) && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "scheduling domains: %.400s", last.reason);
    return false;
}

/* Makes a scheduling domain of each CPU of lines with partition=cpuset or confine=cpuset. */
static bool make_domains(char *reason)
{
    cpu_set_t cpus;
    plugins_domains(&cpus);
    return CPU_COUNT(&cpus) == 0 || set_domains(&cpus, reason);
}

/* Refuses partition=global if the kernel would refuse each attachment. */
static bool probe_global(char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        if (!line->deadline || line->partition != PARTITION_GLOBAL)
            continue;
        (void)attach_probe(&line->cpus);
        if (attach_drain(5, &last) && last.answer == HELPER_OK)
            continue;
        snprintf(reason, REASON_BYTES, "plugins.conf:%d: %s cannot have partition=global: %.300s",
                 line->line, line->name, last.reason);
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

static bool settle_rt_limit(char *reason)
{
    const bool lifted = wants_unthrottled();
    if (set_rt_limit(lifted, lifted ? kernel_counts : 0, reason))
        return true;
    /* the kernel answers EBUSY while threads use more than the limit: the broker neither waits for
     * these threads nor refuses to serve */
    if (!lifted)
        event_broker("error", "%s", reason);
    return !lifted;
}

/* Sets the timer of hrtick=. Measures whether a timer ends runtimes, if hrtick=on or a rule asks for
 * it: the measurement takes up to eight runtimes, so it makes the start some 10 ms longer. */
static bool settle_hrtick(char *reason)
{
    char why[REASON_BYTES];
    struct helper_event last;
    const struct plugin_line *asks = NULL, *deadline = NULL;
    for (int i = 0; i < plugins_count(); i++) {
        deadline = plugin_line(i)->deadline ? plugin_line(i) : deadline;
        asks = plugin_line(i)->hrtick ? plugin_line(i) : asks;
    }
    if (!set_hrtick(asks != NULL, why)) {
        snprintf(reason, REASON_BYTES, "plugins.conf:%d: %s cannot have hrtick=on: %.300s",
                 asks == NULL ? 0 : asks->line, asks == NULL ? "no plugin" : asks->name, why);
        if (asks != NULL)
            return false;
        event_broker("error", "%s", why);
    }
    if (deadline == NULL || (asks == NULL && !acl_has_tick(rules)))
        return true;
    (void)attach_tick();
    tick_know(attach_drain(5, &last) && last.answer == HELPER_OK);
    if (asks != NULL && !tick_is_not_awaited())
        event_broker("warning", "in spite of hrtick=on the tick ends SCHED_DEADLINE runtimes");
    return true;
}

static bool restore_settings(char *reason)
{
    const bool good = set_rt_limit(false, kernel_counts, reason);
    return set_hrtick(false, reason) && good;
}

static void restore_settings_or_tell(void)
{
    char reason[REASON_BYTES];
    if (!restore_settings(reason))
        event_broker("error", "%s", reason);
}

/* ---- taking over ---- */

static struct attachment recorded_attachment(const struct recorded_reservation *recorded)
{
    return (struct attachment){.tid = recorded->tid,
                               .process = recorded->process,
                               .started_by = recorded->started_by,
                               .former = recorded->former,
                               .group = recorded->group,
                               .former_lock = recorded->former_lock,
                               .whole = recorded->grant.spec.budget_process,
                               .pidfd = -1,
                               .watch = -1};
}

/* Takes back the extras that the thread of a record has beside CPU time. */
static void take_back_from_orphan(const struct recorded_reservation *recorded)
{
    struct helper_event last;
    struct attachment orphan = recorded_attachment(recorded);
    if (!recorded->attached || recorded->laid_down || !extras_any(&recorded->grant.spec.extras))
        return;
    orphan.scheduled = strcmp(recorded->plugin, NO_PLUGIN_NAME) != 0;
    extras_take_back_orphan(&orphan, &recorded->grant.spec.extras);
    (void)attach_drain(5, &last);
}

/* Gives the thread of a record its former attributes, if no reservation has the thread any more. */
static void restore_orphan(struct recorded_reservation *recorded)
{
    struct helper_event last;
    struct attachment orphan = recorded_attachment(recorded);
    take_back_from_orphan(recorded);
    recorded->orphan =
        recorded->attached && !recorded->laid_down && strcmp(recorded->plugin, NO_PLUGIN_NAME) != 0;
    if (!recorded->orphan || attachment_find(recorded->tid) != NULL)
        return;
    if (thread_is(recorded->tid, recorded->started_by) || errno != ESRCH)
        (void)attach_restore(&orphan);
    else if (orphan.whole)
        /* processes that the thread has started may still be real-time */
        (void)attach_sweep(&orphan);
    else
        return;
    /* waits now: the journal still has the thread, and no reservation of another user has asked for
     * it yet */
    (void)attach_drain(5, &last);
}

/* Follows threads of records that have called execve(2). Call this after all records are taken
 * over, because such a thread can be distinguished from the other threads of its process only when
 * all attached threads are known. */
static void follow_orphans(const struct recorded_state *state)
{
    struct helper_event last;
    for (int i = 0; i < state->count; i++) {
        struct attachment orphan = recorded_attachment(&state->reservations[i]);
        if (state->reservations[i].orphan && orphan.tid != orphan.process &&
            attachment_is_over(&orphan))
            execve_late(NULL, NULL, &orphan);
    }
    (void)attach_drain(5, &last);
    execve_drained();
}

static void take_up_thread(struct reservation *reservation,
                           const struct recorded_reservation *recorded, bool *apply)
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
    reservation->attachment =
        attachment_new(reservation, &identity, pidfd, recorded->by_file, &recorded->former);
    reservation->attachment->whole = recorded->grant.spec.budget_process;
    /* the thread was ordinary when it ended */
    if (!there && recorded->laid_down)
        reservation->attachment->state = ATTACHMENT_LAID_DOWN;
    reservation->attachment->former_ioprio = recorded->former_ioprio;
    shares_note_former(reservation->attachment);
    reservation->attachment->former_lock = recorded->former_lock;
    reservation->attachment->given.lock_memory = recorded->given_lock;
    if (there)
        extras_note_former(reservation->attachment);
    reservation->attachment->scheduled = grant_schedules(reservation->grant);
    reservation->attachment->served = !recorded->laid_down;
    reservation->attachment->group = recorded->group == NULL ? NULL : strdup(recorded->group);
    if (!there || !attachment_watch(reservation->attachment))
        reservation->pending_changes |= THREAD_CHANGED;
    else if (reservation->attachment->scheduled && thread_attributes(recorded->tid, &now)) {
        placement_expect(&reservation->attachment->presence, &reservation->grant->plan);
        /* plugins.conf had no domains when the thread was attached */
        if (reservation->attachment->group == NULL)
            (void)target_group(recorded->tid, &reservation->attachment->group);
        *apply = !cpu_is_shown(reservation->grant, &now) ||
                 plugin_line(reservation->grant->plugin)->domains;
        /* The thread was detached meanwhile: the attributes that its owner has set since are its
         * former attributes. */
        if (*apply && recorded->laid_down)
            reservation->attachment->former = now;
    }
}

static bool plugin_is_gone(const char *name, char *reason)
{
    snprintf(reason, REASON_BYTES, "there is no plugin %s", name);
    return false;
}

static bool take_up_cpus(const struct recorded_reservation *recorded, struct grant *grant,
                         char *reason)
{
    grant->plugin =
        strcmp(recorded->plugin, NO_PLUGIN_NAME) == 0 ? NO_PLUGIN : plugin_index(recorded->plugin);
    if (strcmp(recorded->plugin, NO_PLUGIN_NAME) == 0)
        return true;
    if (grant->plugin < 0 || plugin_line(grant->plugin)->resource != RESOURCE_CPU)
        return plugin_is_gone(recorded->plugin, reason);
    grant->utilization = cpu_utilization(grant);
    return guard_can_enforce(grant->plugin, &grant->spec, reason) &&
           cpu_plan_is_its_own(grant->plugin, &grant->spec, UINT64_MAX, &grant->plan, reason);
}

static bool take_up_claims(const struct recorded_reservation *recorded, struct grant *grant,
                           char *reason)
{
    struct holding **last = &grant->holdings;
    for (const struct claim *claim = recorded->claims; claim != NULL; claim = claim->next) {
        const int plugin = plugin_index(claim->plugin);
        if (plugin < 0 || plugin_line(plugin)->resource != claim->resource)
            return plugin_is_gone(claim->plugin, reason);
        if (plugin_line(plugin)->off[0] != '\0') {
            snprintf(reason, REASON_BYTES, "%s is off: %.300s", claim->plugin,
                     plugin_line(plugin)->off);
            return false;
        }
        if (claim->background) {
            grant->background |= UINT64_C(1) << plugin;
            continue;
        }
        struct holding *holding = allocate(sizeof *holding);
        holding->claim = *claim;
        holding->claim.next = NULL;
        holding->plugin = plugin;
        *last = holding;
        last = &holding->next;
    }
    return grant->plugin != NO_PLUGIN || grant->holdings != NULL || grant->background != 0 ||
           extras_any(&grant->spec.extras) || plugin_is_gone("that the journal names", reason);
}

static bool take_up_grant(struct reservation *reservation,
                          const struct recorded_reservation *recorded)
{
    char reason[REASON_BYTES];
    struct grant *grant = allocate(sizeof *grant);
    *grant = recorded->grant;
    grant->owner = reservation->user->uid;
    grant->spec = spec_copy(&recorded->grant.spec);
    if (take_up_cpus(recorded, grant, reason) && take_up_claims(recorded, grant, reason) &&
        ledger_fits(grant, NULL, reason)) {
        grant_book(reservation, grant);
        return true;
    }
    event_broker(
        "warning",
        "the grant of %s/%s does not fit plugins.conf any more, and the plugins are asked again: %.300s",
        recorded->user, recorded->name, reason);
    grant_free(grant);
    return false;
}

/* Takes over one record. True: the kernel does not show the granted attributes, and the helper has
 * to apply the grant again. */
static bool take_up(struct recorded_reservation *recorded, bool same_boot)
{
    bool apply = false;
    struct user *user = user_find(recorded->user);
    /* An account database that is down must not cost a user their grant: the database was up when
     * the grant was made. */
    if (user != NULL && user->state != DIRECTORY_ADOPTED && user->account->state == ACCOUNT_FAILED)
        directory_adopt_for_now(user);
    if (user == NULL || user->state != DIRECTORY_ADOPTED) {
        if (same_boot)
            restore_orphan(recorded);
        return false;
    }
    struct reservation *reservation = reservation_find(user, recorded->name, true);
    reservation_keep(reservation);
    /* this record is older: the name was moved away and given to another reservation */
    if (reservation->grant != NULL) {
        restore_orphan(recorded);
        return false;
    }
    if (recorded->token[0] != '\0' && (reservation->token = strdup(recorded->token)) == NULL)
        abort();
    if (!same_boot) {
        /* the plugins are asked again, in the order of the journal */
        reservation->state = RESERVATION_RECOVERED;
        return false;
    }
    if (recorded->granted && !take_up_grant(reservation, recorded)) {
        restore_orphan(recorded);
        reservation->state = RESERVATION_RECOVERED;
        return false;
    }
    reservation->decided = recorded->time;
    shares_take_up(reservation, (uint16_t)recorded->class);
    expiry_until(reservation, recorded->lease);
    /* no waiting spec has this code, so the next refusal differs, and the owner is told */
    if (recorded->waits != 0)
        wait_queue_add(reservation, recorded->waits, WHY_BAD_SPEC);
    reservation->judged = recorded->judged;
    reservation->judged_tid = recorded->judged_tid;
    if (recorded->ended != ENDED_NOT)
        reservation_end(reservation, recorded->ended);
    if (recorded->attached && reservation->grant != NULL)
        take_up_thread(reservation, recorded, &apply);
    return apply;
}

/* Goes on with a reservation that was taken over: watches its thread, and applies the grant again
 * if the kernel does not show it. */
static void go_on(const struct recorded_reservation *recorded, bool apply)
{
    struct user *user = user_find(recorded->user);
    struct reservation *reservation =
        user == NULL ? NULL : reservation_find(user, recorded->name, false);
    if (reservation == NULL)
        return;
    if (reservation->state == RESERVATION_ENDING)
        reader_remove(user, reservation->name, "json", &reservation->judged);
    while (shares_are_due(reservation))
        (void)shares_keep(reservation);
    while (reservation->attachment != NULL && shares_bind_is_due(reservation->attachment))
        (void)shares_bind(reservation->attachment);
    if (apply)
        reconcile_recover(reservation, RECOVER, "the thread is attached again");
    else if (reservation->attachment != NULL) {
        if (extras_are_due(reservation->attachment))
            (void)extras_give(reservation->attachment);
        adjustments_watch(reservation);
        if (reservation->attachment->scheduled)
            adjustments_guard_again(reservation);
    }
    /* before new requests, because they can get what this reservation gives up */
    if ((reservation->pending_changes & THREAD_CHANGED) != 0 ||
        reservation->state == RESERVATION_RECOVERED)
        queue_add(reservation, queue_of_old());
}

bool recover(struct recorded_state *state, char reason[static REASON_BYTES])
{
    bool *apply = allocate((size_t)state->count + 1);
    for (int i = 0; i < state->count; i++)
        tasks_from(state->reservations[i].task);
    for (int i = 0; i < state->count; i++)
        apply[i] = take_up(&state->reservations[i], state->same_boot);
    follow_orphans(state);
    bool good = settle_rt_limit(reason) && settle_hrtick(reason) && journal_afresh(reason) &&
                make_domains(reason) && probe_global(reason);
    for (int i = 0; good && i < state->count; i++)
        go_on(&state->reservations[i], apply[i]);
    if (good)
        allocators_settle();
    else {
        char ignored[REASON_BYTES];
        restore_settings_or_tell();
        (void)drop_domains(ignored);
    }
    free(apply);
    return good;
}

/* ---- the end of a broker ---- */

static bool restore_all(void)
{
    struct helper_event last;
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation)) {
        if (reservation->attachment == NULL)
            continue;
        (void)extras_take_back(reservation->attachment);
        if (!reservation->attachment->scheduled) {
            shares_unbind(reservation->attachment);
            continue;
        }
        if (attachment_is_over(reservation->attachment)) {
            debt_begin(reservation, reservation->grant);
            debt_of_thread(reservation);
        }
        (void)attach_restore(reservation->attachment);
        reservation->attachment->state = ATTACHMENT_LAID_DOWN;
    }
    bool answered = attach_drain(10, &last);
    /* By now each thread is ordinary, or its id belongs to no thread. */
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        if (reservation->attachment != NULL &&
            reservation->attachment->tid != reservation->attachment->process &&
            attachment_is_over(reservation->attachment))
            execve_to_the_end(reservation->user, reservation->name, reservation->attachment);
    return attach_drain(10, &last) && answered;
}

/* Waits until the kernel no longer counts the bandwidth of demoted SCHED_DEADLINE threads, which it
 * keeps for some time. If a broker makes new domains before that, the kernel subtracts the
 * bandwidth from a domain that does not contain it. Then the sum of the domain wraps around, and
 * the kernel refuses every SCHED_DEADLINE thread in the domain (measured on 6.18). */
static void wait_for_kernel(int64_t owed)
{
    const int64_t most = INT64_C(5000000000), paid_back = debt_last_in_kernel() - monotonic_now(),
                  wait = paid_back < most ? paid_back : most;
    const int64_t longer = owed > wait ? owed : wait;
    const struct timespec pause = {.tv_sec = longer / 1000000000, .tv_nsec = longer % 1000000000};
    if (longer > 0)
        (void)nanosleep(&pause, NULL);
}

void lay_down(void)
{
    struct helper_event last;
    (void)attach_owed();          /* drops the waiting time of the start */
    (void)attach_drain(5, &last); /* first the orders under way, which would undo the next ones */
    bool answered = restore_all();
    const int64_t owed = attach_owed();
    wait_for_kernel(owed);
    if (answered && owed > 0)
        /* once more, for the threads that had to stay in their domains until now */
        answered = restore_all();
    if (!answered)
        event_broker("error",
                     "the attach helper did not answer: some threads may still be real-time");
    restore_settings_or_tell();
    allocators_end();
    char reason[REASON_BYTES];
    if (!drop_domains(reason))
        event_broker("error", "%s", reason);
    if (reservation_first() == NULL)
        journal_clear();
    else if (!journal_afresh(reason))
        event_broker("error", "%s", reason);
}

void leave_in_force(void)
{
    struct helper_event last;
    (void)attach_drain(5, &last);
    (void)journal_left();
}

bool put_back_settings(char reason[static REASON_BYTES])
{
    return restore_settings(reason);
}

void recover_know_raised(const struct recorded_state *state)
{
    for (int i = 0; state->same_boot && i < state->count; i++)
        if (state->reservations[i].attached && state->reservations[i].former_ioprio >= 0)
            allocators_know_raised(state->reservations[i].tid, state->reservations[i].started_by,
                                   state->reservations[i].former_ioprio);
}

bool put_back_kernel(allocators_path *path, char reason[static REASON_BYTES])
{
    struct recorded_state state;
    if (!journal_read(&state, reason))
        return false;
    bool good = true;
    recover_know_raised(&state);
    if (!state.left_in_force) {
        good = restore_settings(reason);
        good = drop_domains(reason) && allocators_put_back(path, reason) && good;
    }
    journal_free(&state);
    return good;
}
