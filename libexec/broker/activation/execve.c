#include "execve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "adjustments.h"
#include "attachments.h"
#include "event.h"
#include "memory.h"
#include "transient.h"
#include "request.h"
#include "resource-cpu.h"
#include "second-reservation.h"

/* A thread that belongs to no reservation, and that the helper has the order to make ordinary.
 * Until the helper has answered, the thread may still have the attributes of a grant. */
struct lost {
    uint64_t id; /* the id of the order to the helper */
    pid_t tid;
    struct attributes former;
    UT_hash_handle hh;
};
static struct lost *all_lost;

/* True: the thread is real-time with reset-on-fork, as each granted thread is. A user without
 * privileges or RLIMIT_RTPRIO cannot give a thread these attributes. */
static bool is_marked(const struct attributes *attributes)
{
    return policy_is_real_time(attributes->policy) && attributes->reset_on_fork;
}

static bool shows_mark(pid_t tid, struct attributes *now)
{
    bool seen;
    int tries = 0;
    do
        seen = thread_attributes(tid, now);
    while (!seen && is_transient(errno) && ++tries < TRANSIENT_TRIES);
    return seen && is_marked(now);
}

/* True: the guard has made the leader real-time, as a member of a process with one runtime. After
 * an execve(2) the broker can still tell the leader from the thread by the policy, because a member
 * can have its own reservation only under SCHED_DEADLINE. */
static bool is_by_guard(pid_t leader, const struct attributes *now)
{
    return now->policy != POLICY_DEADLINE && second_reservation_is_shared(leader);
}

bool leader_is_alike(const struct identity *identity)
{
    struct attributes now;
    struct identity leader;
    if (identity->process == identity->tid)
        return false;
    const struct attachment *ours = attachment_find(identity->process);
    const bool marked =
        ours != NULL ? is_marked(&ours->former)
                     : shows_mark(identity->process, &now) && !is_by_guard(identity->process, &now);
    /* A zombie keeps its policy, but does not count, because it never runs again. */
    return marked && !(thread_look(identity->process, &leader) && leader.ended);
}

void execve_former(const struct identity *identity, struct attributes *former)
{
    if (identity->tid != identity->process || !is_marked(former))
        return;
    for (const struct lost *lost = all_lost; lost != NULL; lost = lost->hh.next)
        if (lost->tid == identity->tid) {
            *former = lost->former;
            return;
        }
    const struct attachment *gone = attachment_over_in(identity->process);
    if (gone != NULL)
        *former = gone->former;
}

static bool is_lost(pid_t tid)
{
    const struct lost *lost = all_lost;
    while (lost != NULL && lost->tid != tid)
        lost = lost->hh.next;
    return lost != NULL;
}

void execve_put_back(const struct user *user, const char *name, struct attachment *attachment)
{
    char reason[REASON_BYTES];
    const bool is_told = is_lost(attachment->tid);
    struct lost *lost = allocate(sizeof *lost);
    lost->id = attach_restore(attachment);
    lost->tid = attachment->tid;
    lost->former = attachment->former;
    HASH_ADD(hh, all_lost, id, sizeof lost->id, lost);
    if (is_told)
        return;
    snprintf(
        reason, sizeof reason,
        "after an execve of its process, thread %d runs under the grant of another thread: the broker gives the thread its former attributes back",
        (int)attachment->tid);
    event_write(&(struct event){.stage = "attach",
                                .user = user,
                                .name = name,
                                .decision = "warning",
                                .reason = reason,
                                .tid = attachment->tid,
                                .microseconds = -1});
}

bool execve_answered(const struct helper_event *event)
{
    struct lost *lost;
    HASH_FIND(hh, all_lost, &event->id, sizeof event->id, lost);
    if (lost == NULL)
        return false;
    /* PENDING: the thread is ordinary, and stays in its scheduling domain for now */
    if (event->answer == HELPER_NO || event->answer == HELPER_BUSY)
        event_broker("error", "thread %d could not get its former attributes back: %.400s",
                     (int)lost->tid, event->reason);
    HASH_DEL(all_lost, lost);
    free(lost);
    return true;
}

/* Gives the thread that now has the id of the attachment `leader` the attributes of the grant of
 * `leader`, or the attributes from before this grant. */
static void hold_to(struct attachment *leader, const struct attributes *now)
{
    struct reservation *reservation = leader->reservation;
    if (!leader->scheduled)
        return;
    if (reservation->grant == NULL || request_is_detaching(reservation))
        execve_put_back(reservation->user, reservation->name, leader);
    else if (!cpu_is_shown(reservation->grant, now))
        adjustments_expect(reservation,
                           attach_apply_again(reservation->attachment, reservation->grant), NULL);
}

/* No thread has the id of the attached thread `old` any more. True: the thread seems to have got
 * the leader's id. *now: its attributes. */
static bool is_elsewhere(const struct attachment *old, struct attributes *now)
{
    return old->process != old->tid && !attachment_has_died(old) && shows_mark(old->process, now);
}

static struct attachment leader_of(const struct attachment *old)
{
    return (struct attachment){.tid = old->process,
                               .process = old->process,
                               .started_by = old->started_by,
                               .former = old->former,
                               .group = old->group,
                               .pidfd = -1,
                               .watch = -1};
}

void execve_late(const struct user *user, const char *name, const struct attachment *ended)
{
    struct attributes now;
    struct attachment leader = leader_of(ended);
    if (attachment_find(ended->process) == NULL && is_elsewhere(ended, &now))
        execve_put_back(user, name, &leader);
}

void execve_to_the_end(const struct user *user, const char *name, const struct attachment *ended)
{
    struct attributes now;
    struct attachment leader = leader_of(ended), *ours = attachment_find(ended->process);
    if (is_elsewhere(ended, &now))
        execve_put_back(user, name, ours != NULL ? ours : &leader);
}

void execve_drained(void)
{
    struct lost *lost = all_lost;
    /* this frees only the table; the threads stay linked in their order */
    HASH_CLEAR(hh, all_lost);
    while (lost != NULL) {
        struct lost *next = lost->hh.next;
        free(lost);
        lost = next;
    }
}

/* The thread's policy and priority do not show that the thread had a grant, because the owner may
 * have changed them just before. Only the mark (is_marked) shows this. */
bool execve_exec(const struct reservation *reservation)
{
    const struct attachment *old = reservation->attachment;
    struct attributes now;
    if (!old->scheduled || old->state == ATTACHMENT_LAID_DOWN || !is_elsewhere(old, &now))
        return false; /* LAID_DOWN: the earlier broker had made the thread ordinary already */
    struct attachment first = leader_of(old), *ours = attachment_find(old->process);
    if (ours != NULL)
        hold_to(ours, &now);
    else
        execve_put_back(reservation->user, reservation->name, &first);
    return ours == NULL;
}

void execve_replaced(const struct reservation *reservation, bool is_adjusted)
{
    const struct attachment *old = reservation->attachment,
                            *other = attachment_over_in(old->process);
    struct attachment first = leader_of(old);
    struct attributes now = old->former;
    const bool marked = shows_mark(old->process, &now);
    if (!marked && !is_adjusted)
        return;
    if (!marked)
        first.former = now;
    else if (other != NULL)
        first.former = other->former;
    execve_put_back(reservation->user, reservation->name, &first);
}
