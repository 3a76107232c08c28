#include "take-up.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounting.h"
#include "adjustments.h"
#include "attachments.h"
#include "directories.h"
#include "event.h"
#include "expiry.h"
#include "fair-queue.h"
#include "given-extras.h"
#include "grants.h"
#include "guard.h"
#include "journal.h"
#include "ledger.h"
#include "memory.h"
#include "orphans.h"
#include "placement.h"
#include "plugins.h"
#include "readers.h"
#include "reconcile.h"
#include "reservations.h"
#include "resource-cpu.h"
#include "shares.h"
#include "target-thread.h"
#include "wait-queue.h"

/* Finds the thread of the record. Returns its pidfd; -1: the thread has ended. */
static int find_recorded(const struct recorded_reservation *recorded, struct identity *identity)
{
    const int pidfd = thread_find(recorded->tid, true, identity);
    if (pidfd >= 0 && identity->start <= recorded->started_by) {
        identity->started_by = recorded->started_by;
        return pidfd;
    }
    if (pidfd >= 0)
        close(pidfd);
    *identity = (struct identity){.tid = recorded->tid,
                                  .process = recorded->process,
                                  .started_by = recorded->started_by};
    return -1;
}

static struct attachment *make_attachment(struct reservation *reservation,
                                          const struct recorded_reservation *recorded)
{
    struct identity identity;
    const int pidfd = find_recorded(recorded, &identity);
    struct attachment *attachment =
        attachment_new(reservation, &identity, pidfd, recorded->by_file, &recorded->former);
    attachment->whole = recorded->grant.spec.budget_process;
    /* the earlier broker had made the thread ordinary before the thread ended */
    if (pidfd < 0 && recorded->laid_down)
        attachment->state = ATTACHMENT_LAID_DOWN;
    attachment->former_ioprio = recorded->former_ioprio;
    attachment->former_lock = recorded->former_lock;
    attachment->given.lock_memory = recorded->given_lock;
    attachment->scheduled = grant_schedules(reservation->grant);
    attachment->served = !recorded->laid_down;
    attachment->group = recorded->group == NULL ? NULL : strdup(recorded->group);
    return attachment;
}

/* Takes over the thread of the record. True: the helper has to apply the grant again. */
static bool take_up_thread(struct reservation *reservation,
                           const struct recorded_reservation *recorded)
{
    struct attributes now;
    struct attachment *attachment = reservation->attachment =
        make_attachment(reservation, recorded);
    const bool there = attachment->pidfd >= 0;
    shares_note_former(attachment);
    if (there)
        extras_note_former(attachment);
    if (!there || !attachment_watch(attachment)) {
        reservation->pending_changes |= THREAD_CHANGED;
        return false;
    }
    if (!attachment->scheduled || !thread_attributes(recorded->tid, &now))
        return false;
    placement_expect(&attachment->presence, &reservation->grant->plan);
    /* plugins.conf had no domains when the thread was attached, so the record has no group to
     * return to */
    if (attachment->group == NULL)
        (void)target_group(recorded->tid, &attachment->group);
    const bool apply =
        !cpu_is_shown(reservation->grant, &now) || plugin_line(reservation->grant->plugin)->domains;
    /* The earlier broker had detached the thread. The owner may have set other attributes since
     * then, and these are now the thread's former attributes. */
    if (apply && recorded->laid_down)
        attachment->former = now;
    return apply;
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
    uint64_t least;
    return guard_can_enforce(grant->plugin, &grant->spec, &least, reason) &&
           cpu_allows_flags(grant->plugin, &grant->spec, reason) &&
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

bool take_up(struct recorded_reservation *recorded, bool same_boot)
{
    struct user *user = user_find(recorded->user);
    /* A user must not lose a grant because the account database is down: the database was up when
     * the grant was made. */
    if (user != NULL && user->state != DIRECTORY_ADOPTED && user->account->state == ACCOUNT_FAILED)
        directory_adopt_for_now(user);
    if (user == NULL || user->state != DIRECTORY_ADOPTED) {
        if (same_boot)
            orphan_restore(recorded);
        return false;
    }
    struct reservation *reservation = reservation_find(user, recorded->name, true);
    reservation_keep(reservation);
    /* this record is older: another reservation has its name now */
    if (reservation->grant != NULL) {
        orphan_restore(recorded);
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
        orphan_restore(recorded);
        reservation->state = RESERVATION_RECOVERED;
        return false;
    }
    reservation->decided = recorded->time;
    shares_take_up(reservation, (uint16_t)recorded->class);
    expiry_until(reservation, recorded->lease);
    /* no waiting spec has this code of a refusal. So the next refusal has another code, and the
     * owner is told of it */
    if (recorded->waits != 0)
        wait_queue_add(reservation, recorded->waits, WHY_BAD_SPEC);
    reservation->judged = recorded->judged;
    reservation->judged_tid = recorded->judged_tid;
    if (recorded->ended != ENDED_NOT)
        reservation_end(reservation, recorded->ended);
    return recorded->attached && reservation->grant != NULL &&
           take_up_thread(reservation, recorded);
}

void take_up_go_on(const struct recorded_reservation *recorded, bool apply)
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
    /* this reservation comes before new requests, because a new request can get the capacity that
     * this reservation gives up */
    if ((reservation->pending_changes & THREAD_CHANGED) != 0 ||
        reservation->state == RESERVATION_RECOVERED)
        queue_add(reservation, queue_of_old());
}
