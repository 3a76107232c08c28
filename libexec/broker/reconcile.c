#include "reconcile.h"

#include <stdio.h>
#include <stdlib.h>

#include "expiry.h"
#include "attachments.h"
#include "drift.h"
#include "event.h"
#include "grants.h"
#include "memory.h"
#include "owner.h"
#include "pipeline.h"
#include "readers.h"
#include "refusals.h"
#include "reservations.h"
#include "revoking.h"
#include "given-extras.h"
#include "shares.h"
#include "spare-capacity.h"
#include "spool.h"
#include "journal.h"
#include "thread-events.h"
#include "wait-queue.h"
#include "zero-lag-wait.h"

struct recovery {
    enum kind kind;
    char reason[160];
};

/* The owner is no longer a member of the spool's group, and no rule names the owner: takes the
 * grant back. NAME.json stays, and the broker looks at the file once more, because the owner may
 * have become a member again. */
static void reconcile_revoked(struct reservation *reservation)
{
    pipeline_end_snapshot(reservation);
    struct request *request = request_begin(reservation, UPDATE);
    owner_is_no_member(request);
    reservation->state = RESERVATION_OPEN;
    reservation->pending_changes |= FILES_CHANGED;
    pipeline_begin(request, reservation->attachment != NULL ? LET_GO : DECIDED);
}

/* Root has revoked the reservation. Takes the grant back first, and waits neither for the owner nor
 * for the owner's files. */
static void reconcile_withdrawn(struct reservation *reservation)
{
    pipeline_end_snapshot(reservation);
    struct request *request = request_begin(reservation, UPDATE);
    request_answer(request, ACL_FAIL, "an administrator has revoked the reservation");
    request_refuse(request, "access", WHY_REVOKED, false);
    wait_queue_leave(reservation);
    expiry_until(reservation, 0);
    reservation_end(reservation, ENDED_REVOKE);
    pipeline_begin(request, reservation->attachment != NULL ? LET_GO : DECIDED);
}

/* True: the reservation has ended since root's order, so there is nothing to take back. */
static bool has_nothing(const struct reservation *reservation)
{
    return reservation->grant == NULL && reservation->attachment == NULL &&
           reservation->judged.inode == 0;
}

/* True: the thread stays attached although the spec was rewritten, because neither the new spec nor
 * NAME.tid names another thread. */
static bool keeps_its_thread(const struct reservation *reservation, const struct spec *spec)
{
    const struct attachment *attachment = reservation->attachment;
    return attachment != NULL && reservation->grant != NULL && !attachment_is_over(attachment) &&
           spec->attach == 0 && !spec->attach_none && !spec->dry_run &&
           (attachment->by_file || (reservation->snapshot->tid.state == FILE_ABSENT &&
                                    (spec_claims_cpu(spec) || extras_any(&spec->extras))));
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

/* True: the request needs the open NAME.json, and the reader has not passed the open file. The
 * attach helper takes the owner of this file for the reservation's owner. The reader passes the
 * file only if the files name a thread. So the file is missing if the attached thread stays
 * although no file names it. */
static bool lacks_open_file(const struct reservation *reservation)
{
    return reservation->snapshot->json.state == FILE_READ && reservation->json.fd < 0 &&
           keeps_its_thread(reservation, &reservation->snapshot->spec);
}

/* Call this when NAME.tid names the thread. From now on the thread counts as named by the file,
 * even if an earlier spec has named it. */
static void leave_to_file(const struct reservation *reservation, pid_t thread)
{
    reservation->grant->spec.attach = 0;
    reservation->grant->spec.attach_kept = false;
    if (reservation->attachment != NULL && reservation->attachment->tid == thread)
        reservation->attachment->by_file = true;
}

static void judge_json(struct reservation *reservation)
{
    struct snapshot *snapshot = reservation->snapshot;
    struct request *request =
        request_begin(reservation, reservation->state == RESERVATION_RECOVERED ? RECOVER
                                   : reservation->grant != NULL                ? CHANGE
                                                                               : CREATE);
    if (reservation->state != RESERVATION_OVER_LIMIT)
        reservation->state = RESERVATION_OPEN;
    request->json = snapshot->json;
    request->spec = snapshot->spec; /* even an invalid spec has its token */
    snapshot->spec = (struct spec){0};
    request->outcome.dry_run = request->json.state != FILE_BAD && request->spec.dry_run;
    reservation_count(reservation);
    if (reservation->state == RESERVATION_OVER_LIMIT) {
        request_answer(request, ACL_FAIL,
                       "you have %d specs already: a user may have no more (--max-specs)",
                       max_specs);
        request_refuse(request, "broker", WHY_TOO_MANY_SPECS, false);
    } else if (request->json.state == FILE_BAD)
        request_answer(request, BAD_SPEC, "%s", request->json.reason);
    else {
        request->has_spec = true;
        keep_thread(reservation, &request->spec);
        if (request->spec.waits && waits_behind(reservation) != NULL) {
            request_answer(
                request, SCHEDULE_FAIL,
                "this spec waits behind your spec %s, which came earlier and waits for room",
                waits_behind(reservation)->name);
            request_refuse(request, "broker", WHY_BEHIND, false);
            pipeline_begin(request, DECIDED);
            return;
        }
        if (request->spec.attach == 0 || snapshot->tid.state == FILE_ABSENT) {
            pipeline_begin(request, SPEC_IS_NEW);
            return;
        }
        request_answer(
            request, BAD_SPEC,
            "%s.json: key \"attach\" and the file %s.tid both name a thread: remove one of them",
            reservation->name, reservation->name);
    }
    if (reservation->state != RESERVATION_OVER_LIMIT) {
        request_refuse(request, "spec", WHY_BAD_SPEC, true);
        request_event(request, "spec", "refused", -1, request->outcome.reason);
    }
    pipeline_begin(request, DECIDED);
}

static void judge_tid(struct reservation *reservation)
{
    const struct snapshot *snapshot = reservation->snapshot;
    struct request *request =
        request_begin(reservation, snapshot->tid.state == FILE_ABSENT ? DETACH : ATTACH);
    reservation_count(reservation);
    request->json = snapshot->json;
    request->tid = snapshot->tid;
    if (request->outcome.kind == DETACH) {
        request_answer(request, RESULT_OK, "detached");
        if (reservation->attachment != NULL && reservation->attachment->by_file)
            request_answer(request, RESULT_OK, "thread %d is detached",
                           (int)reservation->attachment->tid);
        if (reservation->attachment != NULL && !reservation->attachment->by_file)
            request_answer(request, RESULT_OK,
                           "%s.tid is gone; thread %d stays attached by the key \"attach\"",
                           reservation->name, (int)reservation->attachment->tid);
        const bool is_attached =
            reservation->attachment != NULL && reservation->attachment->by_file;
        if (is_attached)
            (void)has_drifted(reservation);
        pipeline_begin(request, is_attached ? LET_GO : DECIDED);
        return;
    }
    if (request->tid.state == FILE_BAD)
        request_answer(request, BAD_SPEC, "%s", request->tid.reason);
    else if (request->json.state == FILE_ABSENT)
        request_answer(request, ATTACH_FAIL, "there is no %s.json beside %s.tid", reservation->name,
                       reservation->name);
    else if (reservation->grant == NULL)
        request_answer(request, ATTACH_FAIL, "%s.json has no grant to attach a thread to",
                       reservation->name);
    else if (!grant_schedules(reservation->grant) && !shares_take_thread(reservation->grant) &&
             !extras_take_thread(reservation->grant))
        request_answer(request, ATTACH_FAIL,
                       "%s.json claims no CPU time that a thread could be attached to",
                       reservation->name);
    else if (reservation->grant->spec.attach != 0 && !reservation->grant->spec.attach_kept)
        request_answer(
            request, BAD_SPEC,
            "%s.json: key \"attach\" and the file %s.tid both name a thread: remove one of them",
            reservation->name, reservation->name);
    else {
        if (reservation->grant->spec.attach_kept)
            leave_to_file(reservation, snapshot->thread);
        request->spec.attach = snapshot->thread;
        request->spec.attach_unseen = snapshot->thread_unseen;
        request_answer(request, RESULT_OK, "thread %d is attached", (int)snapshot->thread);
        pipeline_begin(request, THREAD_IS_NAMED);
        return;
    }
    const bool bad = request->outcome.result == BAD_SPEC,
               has_grant = request->json.state != FILE_ABSENT && reservation->grant != NULL;
    request_refuse(request, bad ? "spec" : "broker",
                   bad         ? WHY_BAD_SPEC
                   : has_grant ? WHY_NO_CPU_CLAIM
                               : WHY_NO_GRANT,
                   true);
    request_event(request, bad ? "spec" : "attach", "refused", -1, request->outcome.reason);
    pipeline_begin(request, DECIDED);
}

static void begin_release(struct reservation *reservation)
{
    struct request *request = request_begin(reservation, RELEASE);
    if (reservation->attachment != NULL)
        (void)has_drifted(reservation);
    pipeline_begin(request, reservation->attachment != NULL ? LET_GO : SPEC_IS_GONE);
}

static void apply_again(struct reservation *reservation)
{
    const struct recovery recovery =
        reservation->recovery == NULL ? (struct recovery){.kind = UPDATE} : *reservation->recovery;
    struct request *request = request_begin(reservation, recovery.kind);
    pid_t tid = reservation->attachment->tid;
    request->json = reservation->snapshot->json;
    if (reservation->recovery != NULL)
        request_answer(request, RESULT_OK, "%s", recovery.reason);
    else
        request_answer(request, RESULT_OK, "thread %d has woken and is attached", (int)tid);
    free(reservation->recovery);
    reservation->recovery = NULL;
    reservation->attachment->state =
        attachment_is_pending(reservation->attachment) ? ATTACHMENT_ASLEEP : ATTACHMENT_IN_FORCE;
    (void)reservation_record(reservation);
    pipeline_begin(request, THREAD_IS_KNOWN);
}

/* The grant may get more of the desired amount: begins the request (desired-amounts.h). */
static void ask_for_more(struct reservation *reservation)
{
    struct request *request = request_begin(reservation, UPDATE);
    reservation->raises = false;
    request->json = reservation->snapshot->json;
    spare_capacity_ask_for_more(request);
    pipeline_begin(request, MORE_IS_WANTED);
}

void reconcile_recover(struct reservation *reservation, enum kind kind, const char *reason)
{
    if (reservation->recovery == NULL)
        reservation->recovery = allocate(sizeof *reservation->recovery);
    reservation->recovery->kind = kind;
    snprintf(reservation->recovery->reason, sizeof reservation->recovery->reason, "%s", reason);
    reservation_queue(reservation);
}

static void reconcile_ask_reader(struct reservation *reservation, bool whole)
{
    if (reservation->expected == EXPECT_ANSWER ||
        (reservation->expected == EXPECT_CHANGES && !whole))
        return;
    reservation->expected = EXPECT_ANSWER;
    reader_look(reservation->user, reservation->name, whole);
}

/* True: the reader's report of the files is there; for a removed directory, a report without files.
 * False: the reader has been asked, and will report. */
static bool has_snapshot(struct reservation *reservation)
{
    if (reservation->snapshot == NULL && reservation->user->state == DIRECTORY_GONE)
        reservation->snapshot = allocate(sizeof *reservation->snapshot);
    if (reservation->snapshot == NULL)
        reconcile_ask_reader(reservation, pipeline_is_to_be_applied_again(reservation) ||
                                              is_asked_again(reservation));
    return reservation->snapshot != NULL;
}

/* Asks the reader for the content of NAME.json and for the open file, because the request needs
 * them. */
static void ask_for_whole(struct reservation *reservation)
{
    pipeline_end_snapshot(reservation);
    reconcile_ask_reader(reservation, true);
}

/* True: the broker has proof that NAME.json belongs to the owner, from the open file or from
 * another report. A file of another user cannot be opened. */
static bool shows_owner(const struct reservation *reservation)
{
    const enum file_state state = reservation->snapshot->json.state;
    return reservation->json.fd >= 0 || state == FILE_READ || state == FILE_SAME;
}

/* True: the files name a thread that leaves another reservation of the user at this moment. If the
 * owner removes one NAME.tid and writes another one, the broker may learn of both at once, and the
 * thread is still attached while the first request is under way. */
static bool names_leaving_thread(const struct reservation *reservation)
{
    const struct snapshot *snapshot = reservation->snapshot;
    const pid_t wanted =
        snapshot->tid.state == FILE_READ ? snapshot->thread : snapshot->spec.attach;
    const struct attachment *other = wanted == 0 ? NULL : attachment_find(wanted);
    return other != NULL && other->reservation != reservation &&
           other->reservation->user == reservation->user && other->reservation->request != NULL;
}

/* Begins the next request that the files or the thread ask for. True: the request is under way, or
 * waits for the reader. False: there is nothing to do. */
static bool reconcile_files(struct reservation *reservation)
{
    struct snapshot *snapshot = reservation->snapshot;
    if (snapshot->tid.state != FILE_ABSENT &&
        stamp_equal(&snapshot->tid.stamp, &reservation->leaving_tid))
        snapshot->tid = (struct file){.state = FILE_ABSENT};
    else
        reservation->leaving_tid = (struct stamp){0}; /* so that the reservation can be freed */
    const bool is_there = snapshot->json.state != FILE_ABSENT;
    if (!is_there && reservation->judged.inode != 0)
        begin_release(reservation);
    else if (is_there && (is_asked_again(reservation) ||
                          file_is_another(&snapshot->json, &reservation->judged))) {
        if (snapshot->json.state != FILE_SAME && !lacks_open_file(reservation))
            judge_json(reservation);
        else
            ask_for_whole(reservation);
    } else if (file_is_another(&snapshot->tid, &reservation->judged_tid))
        judge_tid(reservation);
    else if (reservation->raises && reservation->grant != NULL && shows_owner(reservation) &&
             (reservation->attachment == NULL || reservation->json.fd >= 0))
        ask_for_more(reservation);
    else if (!pipeline_is_to_be_applied_again(reservation) || reservation->grant == NULL ||
             reservation->attachment == NULL || !shows_owner(reservation))
        return false;
    else if (reservation->json.fd >= 0 && !reservation->raises)
        apply_again(reservation);
    else
        ask_for_whole(reservation);
    return true;
}

void reconcile_examine(struct reservation *reservation)
{
    if (reservation->request != NULL) {
        const struct stamp asked = reservation->request->json.stamp;
        if (!zero_lag_wait_cancel(reservation->request)) {
            reservation->pending_changes |= FILES_CHANGED;
            return;
        }
        if (reservation->state == RESERVATION_WITHDRAWN && asked.inode != 0)
            reservation->judged = asked; /* root's order answers this file, too */
        pipeline_end_snapshot(reservation);
    }
    if ((reservation->pending_changes & THREAD_CHANGED) != 0)
        thread_events_look(reservation);
    if (reservation->state == RESERVATION_REVOKED && reservation->grant != NULL) {
        reconcile_revoked(reservation);
        return;
    }
    if (reservation->state == RESERVATION_WITHDRAWN && !has_nothing(reservation)) {
        reconcile_withdrawn(reservation);
        return;
    }
    if (reservation->state == RESERVATION_WITHDRAWN) {
        reservation->state = RESERVATION_OPEN;
        revoking_done(reservation);
    }
    /* a scan of the user's directory is under way, and queues this reservation at its end */
    if (reservation->state == RESERVATION_OVER_LIMIT && reservation->user->scan != NULL)
        return;
    if (!has_snapshot(reservation))
        return;
    if (names_leaving_thread(reservation)) {
        reservation_await_thread(reservation);
        return;
    }
    if (reconcile_files(reservation))
        return;
    reservation->pending_changes &= ~FILES_CHANGED;
    reservation->raises = false;
    free(reservation->recovery); /* no recovery is needed any more */
    reservation->recovery = NULL;
    pipeline_end_snapshot(reservation);
    pipeline_forget_if_empty(reservation);
}
