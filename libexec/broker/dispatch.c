#include "dispatch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directories.h"
#include "event.h"
#include "grants.h"
#include "guard.h"
#include "reconcile.h"
#include "expiry.h"
#include "memory.h"
#include "reassign.h"
#include "pipeline.h"
#include "readers.h"
#include "reservations.h"
#include "scans.h"
#include "shares.h"
#include "spare-capacity.h"
#include "spool.h"
#include "thread-events.h"
#include "fair-queue.h"
#include "wait-queue.h"
#include "zero-lag-wait.h"

enum { TURN_RESERVATIONS = 32 };

static bool lease_is_over(struct reservation *reservation);

bool dispatch_prepare(void)
{
    static const struct thread_events thread_events = {.examine = reconcile_examine,
                                                       .recover = reconcile_recover};
    zero_lag_wait_prepare(pipeline_has_waited);
    thread_events_prepare(&thread_events);
    return expiry_prepare(lease_is_over);
}

bool dispatch_has_queue(void)
{
    return queue_is_due() || turn_is_due() || wait_queue_are_due() || spare_capacity_is_due();
}

void dispatch_take_turn(void)
{
    struct reservation *reservation;
    struct request *request;
    while ((reservation = wait_queue_next()) != NULL)
        reservation_queue(reservation);
    if (spare_capacity_is_due())
        spare_capacity_share_out();
    for (int taken = 0; taken < TURN_RESERVATIONS && (request = turn_next()) != NULL; taken++)
        pipeline_turn_has_come(request);
    for (int taken = 0; taken < TURN_RESERVATIONS && (reservation = queue_next()) != NULL; taken++)
        reconcile_examine(reservation);
}

/* The lease of a reservation is over: has the reader remove NAME.json, unless the owner has
 * rewritten the file meanwhile. When the file is removed, the reservation is released. False: a
 * request about NAME.json is under way, because the owner has rewritten the file. If that request
 * is granted, the lease is renewed. */
static bool lease_is_over(struct reservation *reservation)
{
    if (reservation->request != NULL && request_is_about_its_file(reservation->request))
        return false;
    char reason[REASON_BYTES];
    const uint64_t expires = reservation->grant == NULL ? 0 : reservation->grant->spec.expires;
    snprintf(reason, sizeof reason, "nobody has renewed the spec: the reservation ends");
    if (expires != 0)
        snprintf(reason, sizeof reason,
                 "the spec was not renewed within %lluus: the reservation ends",
                 (unsigned long long)expires);
    struct event event = {.stage = "spec",
                          .user = reservation->user,
                          .name = reservation->name,
                          .decision = "ended",
                          .reason = reason,
                          .plugin = grant_plugin_name(reservation->grant),
                          .token = reservation->token,
                          .microseconds = -1};
    event_write(&event);
    if (reservation->state == RESERVATION_WITHDRAWN)
        return true;
    reservation_end(reservation, ENDED_LEASE);
    reader_remove(reservation->user, reservation->name, "json", &reservation->judged);
    return true;
}

/* ---- answers ---- */

void dispatch_plugin_event(int plugin, const struct plugin_event *event)
{
    switch (event->kind) {
    case PLUGIN_UP:
        reassign_feed(plugin);
        wait_queue_kick();
        spare_capacity_look_again();
        break;
    case PLUGIN_UPDATE: reassign_take(plugin, event); break;
    case PLUGIN_ANSWER: pipeline_plugin_answered(event); break;
    }
}

void dispatch_allocator_event(const struct helper_event *event)
{
    if (pipeline_helper_answered(event))
        return;
    if (event->answer == HELPER_NO)
        event_broker("error", "%.400s", event->reason);
    shares_answered(event->id, event->answer != HELPER_NO);
}

void dispatch_helper_event(const struct helper_event *event)
{
    if (event->loop != 0 && event->watch >= 0) {
        guard_watch_loop(event->loop, event->watch);
        close(event->watch);
        return;
    }
    if (!pipeline_helper_answered(event))
        thread_events_adjusted(event);
}

/* ---- reports of readers ---- */

/* True: the file belongs to the user and is on the spool's file system. The attach helper takes the
 * file's owner for the reservation's owner, and fstat(2) does not wait on this file system. */
static bool is_own_file(const struct user *user, int fd)
{
    struct statx specs, file;
    return statx(spool.specs, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &specs) == 0 &&
           statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_UID | STATX_TYPE | STATX_MNT_ID,
                 &file) == 0 &&
           S_ISREG(file.stx_mode) && file.stx_uid == user->uid &&
           file.stx_mnt_id == specs.stx_mnt_id;
}

static void refuse_files(struct user *user, struct snapshot *snapshot, struct open_file *json,
                         const char *why)
{
    spec_free(&snapshot->spec);
    open_file_close(user, json);
    reader_fail(user, why);
}

void dispatch_files(struct user *user, const char *name, struct snapshot *snapshot,
                    struct open_file json)
{
    struct reservation *reservation = reservation_find(user, name, true);
    if (reservation->request != NULL || reservation->snapshot != NULL) {
        refuse_files(user, snapshot, &json, "the reader reported one file twice");
        return;
    }
    if (json.fd >= 0 && !is_own_file(user, json.fd)) {
        refuse_files(user, snapshot, &json, "the reader passed a file of another user");
        return;
    }
    reservation->snapshot = allocate(sizeof *reservation->snapshot);
    *reservation->snapshot = *snapshot;
    reservation->json = json;
    reservation->expected = EXPECT_NOTHING;
    reservation_queue(reservation);
}

void dispatch_changed(struct user *user, const char *name)
{
    struct reservation *reservation = reservation_find(user, name, false);
    if (reservation == NULL || reservation->snapshot == NULL)
        return;
    reservation->expected = EXPECT_CHANGES;
    if (reservation->request != NULL)
        reconcile_examine(reservation);
}

void dispatch_unwritten(struct user *user, const char *name, const char *request,
                        const char *reason)
{
    const struct event event = {.stage = "verdict",
                                .user = user,
                                .name = name,
                                .request = request,
                                .decision = "error",
                                .reason = reason,
                                .microseconds = -1};
    event_write(&event);
}

void dispatch_odd(struct user *user, const char *name)
{
    report_found(user, name, "ignored",
                 "a name must be [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} followed by .json or .tid");
}

void dispatch_overflow(struct user *user)
{
    report_found(
        user, user->name, "warning",
        "the kernel lost events of this directory: the broker looks at each of its files again");
}

void dispatch_reader_lost(struct user *user, const char *why)
{
    report_found(user, user->name, "error", why);
    scan_forget(user);
    for (struct reservation *reservation = user->reservations; reservation != NULL;
         reservation = reservation->hh.next) {
        const bool waited = reservation->expected != EXPECT_NOTHING ||
                            reservation->snapshot != NULL || reservation->leaving_tid.inode != 0;
        reservation->expected = EXPECT_NOTHING;
        if (reservation->request == NULL)
            reservation_snapshot_end(reservation);
        if (reservation->state == RESERVATION_ENDING)
            reader_remove(user, reservation->name, "json", &reservation->judged);
        if (reservation->leaving_tid.inode != 0)
            reader_remove(user, reservation->name, "tid", &reservation->leaving_tid);
        if (waited)
            reservation_queue(reservation);
    }
}
