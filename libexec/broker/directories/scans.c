#include "scans.h"

#include <stdlib.h>

#include "memory.h"
#include "fair-queue.h"
#include "verdict.h"
#include "reservations.h"

/* A reservation that has to be looked at after the scan. */
struct find {
    uint64_t task;
    /* when the spec changed, ns; the earliest is looked at first; 0: before all others; INT64_MAX:
     * after all others */
    int64_t time;
};

struct finds {
    struct find *list;
    size_t count, room;
};

struct scan {
    int64_t since; /* CLOCK_REALTIME, ns */
    bool over_limit_told;
    struct finds finds;
};

/* While the broker starts, the finds of all users are gathered, and then queued together in the
 * order of their times. */
static struct {
    bool on;
    struct finds finds;
} gathering;

static bool is_quiet(const struct reservation *reservation)
{
    return reservation->request == NULL && reservation->state != RESERVATION_RECOVERED &&
           reservation->pending_changes == 0 && reservation->recovery == NULL;
}

static void remember(struct finds *finds, const struct reservation *reservation, int64_t time)
{
    if (finds->count == finds->room) {
        finds->room = finds->room == 0 ? 64 : finds->room * 2;
        finds->list = realloc(finds->list, finds->room * sizeof *finds->list);
        if (finds->list == NULL)
            abort();
    }
    finds->list[finds->count++] = (struct find){reservation->task, time};
}

static int by_time(const void *one, const void *other)
{
    const struct find *a = one, *b = other;
    return a->time != b->time  ? a->time < b->time ? -1 : 1
           : a->task < b->task ? -1
                               : a->task > b->task;
}

/* Appends the reservations to `queue`. NULL: appends each reservation to the queue of its user. */
static void queue_finds(struct finds *finds, struct queue *queue)
{
    if (finds->count > 0)
        qsort(finds->list, finds->count, sizeof *finds->list, by_time);
    for (size_t i = 0; i < finds->count; i++) {
        struct reservation *reservation = reservation_of_task(finds->list[i].task);
        if (reservation != NULL && queue == NULL)
            reservation_queue(reservation);
        else if (reservation != NULL)
            queue_add(reservation, queue);
    }
    free(finds->list);
    *finds = (struct finds){0};
}

void scan_forget(struct user *user)
{
    if (user->scan == NULL)
        return;
    for (struct reservation *reservation = user->reservations; reservation != NULL;
         reservation = reservation->hh.next)
        reservation->found = 0;
    free(user->scan->finds.list);
    free(user->scan);
    user->scan = NULL;
}

void scan_begin(struct user *user, int64_t since)
{
    scan_forget(user);
    user->scan = allocate(sizeof *user->scan);
    user->scan->since = since;
}

/* NULL: the user has too many reservations, and the verdict of another reservation says so
 * already. */
static struct reservation *find(struct user *user, const char *name)
{
    struct reservation *reservation = reservation_find(user, name, false);
    if (reservation != NULL)
        return reservation;
    reservation = reservation_find(user, name, true);
    const bool over_limit = reservation->state == RESERVATION_OVER_LIMIT;
    if (over_limit && user->scan->over_limit_told) {
        reservation_forget(reservation);
        return NULL;
    }
    user->scan->over_limit_told |= over_limit;
    return reservation;
}

/* Reservations that the broker knows already come first, because new reservations may use the
 * capacity that the known reservations give up. */
void scan_file(struct user *user, const char *name, bool is_json, const struct stamp *stamp)
{
    struct reservation *reservation = user->scan == NULL ? NULL : find(user, name);
    if (reservation == NULL)
        return;
    const struct stamp *judged = is_json ? &reservation->judged : &reservation->judged_tid;
    reservation->found |= is_json ? OF_JSON : OF_TID;
    if (!is_quiet(reservation) || judged->fresh || !stamp_equal(stamp, judged))
        remember(&user->scan->finds, reservation,
                 reservation->judged.inode != 0 ? 0
                 : is_json                      ? stamp->changed
                                                : INT64_MAX);
}

void scan_verdict(struct user *user, const char *name, int64_t decided)
{
    struct reservation *reservation = user->scan == NULL ? NULL : find(user, name);
    if (reservation == NULL)
        return;
    reservation->found |=
        decided == reservation->decided ? OF_VERDICT | OF_VERDICT_TOLD : OF_VERDICT;
    /* the spec of this verdict may have been removed */
    if (reservation->judged.inode == 0 && reservation->grant == NULL)
        remember(&user->scan->finds, reservation, INT64_MAX);
}

/* An earlier broker may have died after the decision and before the verdict: has the verdict
 * written again. */
static void tell_again(struct reservation *reservation, int64_t since)
{
    if ((reservation->found & OF_VERDICT_TOLD) != 0 || reservation->decided == 0 ||
        reservation->decided >= since || reservation->state == RESERVATION_ENDING ||
        !is_quiet(reservation) || reservation->snapshot != NULL)
        return;
    if (reservation->grant != NULL)
        verdict_again(reservation, RECOVER, "the grant is in force");
    /* the reason of the refusal was lost with the earlier broker: the plugins are asked again */
    else if (reservation->judged.inode != 0)
        reservation->judged = (struct stamp){0};
}

/* Remembers the reservation if the scan has not found the files that the broker knows, because
 * files may have been removed. */
static void look_for_missing(struct scan *scan, struct reservation *reservation)
{
    const bool had_json = reservation->judged.inode != 0;
    tell_again(reservation, scan->since);
    const bool has_json = (reservation->found & OF_JSON) != 0,
               has_tid = (reservation->found & OF_TID) != 0;
    if (has_json != had_json || has_json != (reservation->judged.inode != 0) ||
        has_tid != (reservation->judged_tid.inode != 0) || reservation->snapshot != NULL ||
        !is_quiet(reservation))
        remember(&scan->finds, reservation, has_json ? INT64_MAX : 0);
    reservation->found = 0;
}

static void gather(struct finds *finds)
{
    for (size_t i = 0; i < finds->count; i++) {
        const struct reservation *reservation = reservation_of_task(finds->list[i].task);
        if (reservation != NULL)
            remember(&gathering.finds, reservation, finds->list[i].time);
    }
    finds->count = 0;
}

void scan_end(struct user *user)
{
    struct scan *scan = user->scan;
    if (scan == NULL)
        return;
    for (struct reservation *reservation = user->reservations; reservation != NULL;
         reservation = reservation->hh.next)
        look_for_missing(scan, reservation);
    user->scan = NULL;
    user->scanned = true;
    if (gathering.on)
        gather(&scan->finds);
    queue_finds(&scan->finds, NULL);
    free(scan);
}

void scans_gather(void)
{
    gathering.on = true;
}

void scans_gathered(void)
{
    gathering.on = false;
    queue_finds(&gathering.finds, queue_of_old());
}
