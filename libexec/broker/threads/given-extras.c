#include "given-extras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "attach.h"
#include "event.h"
#include "grants.h"
#include "least-cpu-latency.h"
#include "memory.h"
#include "reservations.h"
#include "spec.h"
#include "timers.h"

bool extras_take_thread(const struct grant *grant)
{
    return grant != NULL && extras_any(&grant->spec.extras);
}

/* ---- the former limit of locked memory ---- */

/* A process whose limit of locked memory the helper is restoring. Until the helper has answered,
 * /proc may still show the raised limit. So if a thread of the process is attached again meanwhile,
 * its former limit is read from this struct. */
struct taken_back {
    LIST_ENTRY(taken_back) next;
    pid_t process;
    uint64_t started_by;
    /* the id of the message to the helper; 0: the helper refused, and the message is sent again
     * later */
    uint64_t id;
    uint64_t was; /* bytes */
    uid_t owner;
    bool has_owner, is_told;
    struct former_lock former;
};

static void say_refused_again(struct timer *timer);

static struct {
    LIST_HEAD(, taken_back) taken;
    struct timer again;
    int64_t pause; /* ns, until the next try */
} extras = {.again = {.due = say_refused_again}};

static void note_taken_back(const struct attachment *attachment, uint64_t was, uint64_t id)
{
    const struct reservation *reservation = attachment->reservation;
    struct taken_back *one = allocate(sizeof *one);
    *one = (struct taken_back){.process = attachment->process,
                               .started_by = attachment->started_by,
                               .id = id,
                               .was = was,
                               .has_owner = reservation != NULL,
                               .owner = reservation == NULL ? 0 : reservation->user->uid,
                               .former = attachment->former_lock};
    LIST_INSERT_HEAD(&extras.taken, one, next);
}

static bool former_of_taken_back(const struct attachment *attachment, struct former_lock *former)
{
    const struct taken_back *one;
    LIST_FOREACH (one, &extras.taken, next)
        if (one->process == attachment->process && thread_is(one->process, one->started_by)) {
            *former = one->former;
            return true;
        }
    return false;
}

/* True: `other` is another attached thread of the same process. Threads that have ended do not
 * count, because the id of their process may belong to another process now. */
static bool is_beside(const struct attachment *other, const struct attachment *attachment)
{
    return other != NULL && other != attachment && other->process == attachment->process &&
           other->pidfd >= 0 && !thread_has_ended(other->pidfd);
}

static bool former_of_others(const struct attachment *attachment, struct former_lock *former)
{
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        if (is_beside(reservation->attachment, attachment) &&
            reservation->attachment->former_lock.is_known) {
            *former = reservation->attachment->former_lock;
            return true;
        }
    return false;
}

static bool read_amount(const char *text, uint64_t *bytes, const char **rest)
{
    char *end;
    text += strspn(text, " ");
    const bool unlimited = strncmp(text, "unlimited", 9) == 0;
    *bytes = unlimited ? UINT64_MAX : strtoull(text, &end, 10);
    *rest = unlimited ? text + 9 : end;
    return *rest != text;
}

/* Reads /proc/PID/limits, which every user may read. */
static bool read_limit(pid_t process, struct former_lock *former)
{
    static const char name[] = "Max locked memory";
    char path[48], line[160];
    const char *rest;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)process);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, name, sizeof name - 1) == 0 &&
                read_amount(line + sizeof name - 1, &former->soft, &rest) &&
                read_amount(rest, &former->hard, &rest);
    if (file != NULL)
        fclose(file);
    return found;
}

void extras_note_former(struct attachment *attachment)
{
    const struct grant *grant = attachment->reservation->grant;
    struct former_lock *former = &attachment->former_lock;
    if (former->is_known || grant == NULL || grant->spec.extras.lock_memory == 0 ||
        former_of_others(attachment, former) || former_of_taken_back(attachment, former))
        return;
    former->since = thread_now();
    former->is_known = read_limit(attachment->process, former);
}

/* ---- orders ---- */

static const struct extras nothing;

static uint64_t most_locked(const struct attachment *attachment)
{
    uint64_t most = attachment->given.lock_memory;
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        if (is_beside(reservation->attachment, attachment) &&
            reservation->attachment->given.lock_memory > most)
            most = reservation->attachment->given.lock_memory;
    return most;
}

static void add_limit(struct paragraph_output *text, const struct former_lock *former, uint64_t was,
                      uint64_t is)
{
    if (!former->is_known)
        return; /* no limit was raised */
    paragraph_add_stated(text, "lock_was", was);
    paragraph_add_stated(text, "lock_is", is);
    paragraph_add_number(text, "lock_soft", former->soft);
    paragraph_add_number(text, "lock_hard", former->hard);
    paragraph_add_number(text, "lock_since", former->since);
}

/* Sends the order to give the thread the extras `given` in place of its present extras. */
static uint64_t say(struct attachment *attachment, const struct extras *given)
{
    const struct extras before = attachment->given;
    const struct reservation *reservation = attachment->reservation;
    const uint64_t was = most_locked(attachment);
    const int former_nice = attachment->former.nice + NICE_OFFSET;
    attachment->given = *given;
    struct message *message = attach_give(attachment);
    struct paragraph_output *text = helper_text(message);
    paragraph_add_number(text, "process", (uint64_t)attachment->process);
    if (reservation != NULL)
        paragraph_add_number(text, "owner", reservation->user->uid);
    paragraph_add_stated(text, "scheduled", attachment->scheduled);
    paragraph_add_number(text, "former_nice", (uint64_t)former_nice);
    paragraph_add_stated(text, "reset_on_fork", attachment->former.reset_on_fork);
    paragraph_add_stated(text, "touches_nice", before.nice != 0 || given->nice != 0);
    paragraph_add_stated(text, "touches_clamp",
                         before.clamp_min != 0 || before.clamp_max != 0 || given->clamp_min != 0 ||
                             given->clamp_max != 0);
    extras_add(text, given);
    add_limit(text, &attachment->former_lock, was, most_locked(attachment));
    paragraph_add_stated(text, "held_latency", least_cpu_latency());
    return attach_given(message);
}

bool extras_are_due(const struct attachment *attachment)
{
    const struct grant *grant = attachment->reservation->grant;
    const struct extras *granted = grant == NULL ? &nothing : &grant->spec.extras;
    return !extras_equal(granted, &attachment->given) ||
           (extras_any(granted) && !attachment->extras_said);
}

/* Forgets the former limit, so that the next reservation of the thread reads it again. */
static void forget_former(struct attachment *attachment, uint64_t was, uint64_t id)
{
    if (attachment->former_lock.is_known)
        note_taken_back(attachment, was, id);
    attachment->former_lock.is_known = false;
}

uint64_t extras_take_back(struct attachment *attachment)
{
    if (!extras_any(&attachment->given))
        return 0;
    const uint64_t was = most_locked(attachment), id = say(attachment, &nothing);
    forget_former(attachment, was, id);
    attachment->extras_said = false;
    return id;
}

uint64_t extras_give(struct attachment *attachment)
{
    const struct extras *granted = &attachment->reservation->grant->spec.extras;
    if (!extras_any(granted))
        return extras_take_back(attachment);
    attachment->extras_said = true;
    const uint64_t was = most_locked(attachment), id = say(attachment, granted);
    if (granted->lock_memory == 0)
        forget_former(attachment, was, id);
    return id;
}

void extras_take_back_orphan(struct attachment *orphan, const struct extras *granted)
{
    orphan->given = *granted;
    (void)extras_take_back(orphan);
}

/* The helper refuses the order while processes that inherited the raised limit start new processes
 * faster than the helper finds them. The processes cannot do this without end, so the broker sends
 * the order again. The other threads of the process keep their extras. */
static void say_refused_again(struct timer *timer)
{
    struct taken_back *one;
    (void)timer;
    LIST_FOREACH (one, &extras.taken, next) {
        const struct attachment ended = {.tid = one->process,
                                         .process = one->process,
                                         .started_by = one->started_by,
                                         .pidfd = -1};
        if (one->id != 0)
            continue;
        struct message *message = attach_give(&ended);
        struct paragraph_output *text = helper_text(message);
        paragraph_add_number(text, "process", (uint64_t)one->process);
        if (one->has_owner)
            paragraph_add_number(text, "owner", one->owner);
        add_limit(text, &one->former, one->was, most_locked(&ended));
        paragraph_add_stated(text, "held_latency", least_cpu_latency());
        one->id = attach_given(message);
    }
}

static void try_later(struct taken_back *one, const char *reason)
{
    static const int64_t second = 1000000000;
    if (!one->is_told)
        event_broker("error", "process %d keeps a raised limit of locked memory for now: %.300s",
                     (int)one->process, reason);
    one->is_told = true;
    one->id = 0;
    if (extras.again.at != 0)
        return;
    extras.pause = extras.pause == 0 ? second : 2 * extras.pause;
    extras.pause = extras.pause < 60 * second ? extras.pause : 60 * second;
    timer_set(&extras.again, monotonic_now() + extras.pause);
}

void extras_answered(const struct helper_event *event)
{
    struct taken_back *one = LIST_FIRST(&extras.taken);
    while (one != NULL && one->id != event->id)
        one = LIST_NEXT(one, next);
    if (one == NULL)
        return;
    if (event->answer == HELPER_NO) {
        try_later(one, event->reason);
        return;
    }
    extras.pause = 0;
    LIST_REMOVE(one, next);
    free(one);
}

void extras_say_again(void)
{
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        if (reservation->attachment != NULL && reservation->attachment->extras_said)
            (void)say(reservation->attachment, &reservation->attachment->given);
}
