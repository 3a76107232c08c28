#include "reservations.h"

#include <bsd/sys/tree.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "expiry.h"
#include "memory.h"
#include "names.h"
#include "readers.h"
#include "spec.h"
#include "journal.h"
#include "tasks.h"
#include "wait-queue.h"

int max_specs = 1000;

static RB_HEAD(tasks, reservation) tasks = RB_INITIALIZER(&tasks);

static int compare(const struct reservation *one, const struct reservation *other)
{
    return one->task < other->task ? -1 : one->task > other->task;
}

RB_PROTOTYPE(tasks, reservation, of_task, compare)
RB_GENERATE(tasks, reservation, of_task, compare)

/* ---- reservations ---- */

struct reservation *reservation_first(void)
{
    return RB_MIN(tasks, &tasks);
}

struct reservation *reservation_next(const struct reservation *reservation)
{
    return RB_NEXT(tasks, &tasks, (struct reservation *)reservation);
}

struct reservation *reservation_of_task(uint64_t task)
{
    struct reservation wanted = {.task = task};
    return RB_FIND(tasks, &tasks, &wanted);
}

struct account *user_bucket(const struct user *user)
{
    return acl_names_uid(rules, user->uid) ? user->account : account_bucket(user->account);
}

void reservation_count(struct reservation *reservation)
{
    struct account *bucket = user_bucket(reservation->user);
    if (reservation->counted != NULL)
        return;
    const bool over_limit = reservation->user->uid != 0 && bucket->reservations >= max_specs;
    if (over_limit || reservation->state == RESERVATION_OVER_LIMIT)
        reservation->state = over_limit ? RESERVATION_OVER_LIMIT : RESERVATION_OPEN;
    if (!over_limit) {
        reservation->counted = bucket;
        bucket->reservations++;
    }
}

void reservation_uncount(struct reservation *reservation)
{
    if (reservation->counted != NULL)
        reservation->counted->reservations--;
    reservation->counted = NULL;
}

struct reservation *reservation_find(struct user *user, const char *name, bool create)
{
    struct reservation *reservation;
    HASH_FIND_STR(user->reservations, name, reservation);
    if (reservation != NULL || !create)
        return reservation;
    reservation = allocate(sizeof *reservation + strlen(name) + 1);
    reservation->user = user;
    reservation->json.fd = -1;
    memcpy(reservation->name, name, strlen(name) + 1);
    reservation->task = task_new();
    reservation_count(reservation);
    HASH_ADD_KEYPTR(hh, user->reservations, reservation->name, strlen(reservation->name),
                    reservation);
    RB_INSERT(tasks, &tasks, reservation);
    return reservation;
}

void reservation_keep(struct reservation *reservation)
{
    if (reservation->state != RESERVATION_OVER_LIMIT)
        return;
    reservation->state = RESERVATION_OPEN;
    reservation->counted = user_bucket(reservation->user);
    reservation->counted->reservations++;
}

void reservation_end(struct reservation *reservation, enum ended why)
{
    reservation->state = RESERVATION_ENDING;
    reservation->ended = why;
}

void reservation_snapshot_end(struct reservation *reservation)
{
    if (reservation->snapshot == NULL)
        return;
    spec_free(&reservation->snapshot->spec);
    free(reservation->snapshot);
    reservation->snapshot = NULL;
    open_file_close(reservation->user, &reservation->json);
}

static void await_no_thread(struct reservation *reservation)
{
    if (reservation->awaits_thread)
        reservation->user->awaiting--;
    reservation->awaits_thread = false;
}

void reservation_forget(struct reservation *reservation)
{
    reservation_snapshot_end(reservation);
    free(reservation->recovery);
    expiry_until(reservation, 0);
    wait_queue_leave(reservation);
    queue_leave(reservation);
    await_no_thread(reservation);
    reservation_uncount(reservation);
    HASH_DELETE(hh, reservation->user->reservations, reservation);
    RB_REMOVE(tasks, &tasks, reservation);
    free(reservation->token);
    free(reservation);
}

bool reservation_record(struct reservation *reservation)
{
    reservation->decided = realtime_now();
    return journal_reservation(reservation);
}

void reservation_queue(struct reservation *reservation)
{
    queue_add(reservation, &user_bucket(reservation->user)->queue);
}

void reservation_await_thread(struct reservation *reservation)
{
    if (!reservation->awaits_thread)
        reservation->user->awaiting++;
    reservation->awaits_thread = true;
}

void reservations_go_on(struct user *user)
{
    struct reservation *reservation, *next;
    if (user->awaiting == 0)
        return;
    HASH_ITER (hh, user->reservations, reservation, next)
        if (reservation->awaits_thread) {
            await_no_thread(reservation);
            reservation_queue(reservation);
        }
}
