#include "follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "event.h"
#include "moment.h"
#include "request.h"
#include "threads.h"
#include "wishes.h"

/* Told to be put back, and in no books any more; until the helper has answered, what it shows is not its own. */
struct lost {
    uint64_t id; /* of the message */
    pid_t tid;
    struct attributes former;
    UT_hash_handle hh;
};
static struct lost *all_lost;

/* As all that we grant, and as nobody can make himself without privileges or RLIMIT_RTPRIO. */
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
    while (!seen && is_of_the_moment(errno) && ++tries < MOMENT_TRIES);
    return seen && is_marked(now);
}

bool leader_is_alike(const struct identity *identity)
{
    struct attributes now;
    struct identity leader;
    if (identity->process == identity->tid)
        return false;
    const struct attachment *ours = attachment_find(identity->process);
    const bool marked = ours != NULL ? is_marked(&ours->former) : shows_mark(identity->process, &now);
    /* A zombie keeps its policy, and it is nobody's to go on with. */
    return marked && !(thread_look(identity->process, &leader) && leader.ended);
}

void follow_former(const struct identity *identity, struct attributes *former)
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

void follow_put_back(const struct user *user, const char *name, struct attachment *attachment)
{
    char reason[REASON_BYTES];
    struct lost *lost = allocate(sizeof *lost);
    lost->id = helper_restore(attachment);
    lost->tid = attachment->tid;
    lost->former = attachment->former;
    HASH_ADD(hh, all_lost, id, sizeof lost->id, lost);
    snprintf(reason, sizeof reason, "thread %d has what was granted to one of its process that called execve, and no reservation: it is put back", (int)attachment->tid);
    event_write(&(struct event){.stage = "attach", .user = user, .name = name, .decision = "warning", .reason = reason, .tid = attachment->tid, .microseconds = -1});
}

bool follow_answered(const struct helper_event *event)
{
    struct lost *lost;
    HASH_FIND(hh, all_lost, &event->id, sizeof event->id, lost);
    if (lost == NULL)
        return false;
    if (event->answer == HELPER_NO || event->answer == HELPER_BUSY) /* PENDING: it is ordinary, and stays in its scheduling domain */
        event_broker("error", "thread %d could not be put back: %.400s", (int)lost->tid, event->reason);
    HASH_DEL(all_lost, lost);
    free(lost);
    return true;
}

/* Its id is an attachment's, and what runs under it now is held to that one's grant. */
static void hold_to(struct attachment *leader, const struct attributes *now)
{
    struct wish *wish = leader->wish;
    if (wish->grant == NULL || is_being_detached(wish))
        follow_put_back(wish->user, wish->name, leader);
    else if (!attributes_show(&wish->grant->plan, now))
        threads_expect(wish, helper_apply_again(wish->attachment, wish->grant), false);
}

/* Whether `old`, whose id is over, goes on under the leader's: as far as can be told, and then *now. */
static bool is_elsewhere(const struct attachment *old, struct attributes *now)
{
    return old->process != old->tid && !attachment_has_died(old) && shows_mark(old->process, now);
}

static struct attachment leader_of(const struct attachment *old)
{
    return (struct attachment){.tid = old->process, .process = old->process, .started_by = old->started_by, .former = old->former,
                               .group = old->group, .pidfd = -1, .watch = -1};
}

void follow_late(const struct user *user, const char *name, const struct attachment *ended)
{
    struct attributes now;
    struct attachment leader = leader_of(ended);
    if (attachment_find(ended->process) == NULL && is_elsewhere(ended, &now))
        follow_put_back(user, name, &leader);
}

void follow_to_the_end(const struct user *user, const char *name, const struct attachment *ended)
{
    struct attributes now;
    struct attachment leader = leader_of(ended), *ours = attachment_find(ended->process);
    if (is_elsewhere(ended, &now))
        follow_put_back(user, name, ours != NULL ? ours : &leader);
}

void follow_drained(void)
{
    struct lost *lost = all_lost;
    HASH_CLEAR(hh, all_lost); /* the table; its elements stay linked in their order */
    while (lost != NULL) {
        struct lost *next = lost->hh.next;
        free(lost);
        lost = next;
    }
}

/* How it is scheduled exactly its owner may have changed just before: of its policy and priority nothing is believed but the mark. */
bool follow_exec(struct wish *wish)
{
    struct attachment *old = wish->attachment;
    struct identity identity;
    struct attributes now;
    if (old->laid_down || !is_elsewhere(old, &now))
        return false; /* what the broker before had put back was ordinary when it ended */
    struct attachment *leader = attachment_find(old->process);
    if (leader != NULL) {
        hold_to(leader, &now);
        return false;
    }
    int pidfd = thread_find(old->process, true, &identity);
    if (pidfd < 0) {
        if (errno != ESRCH) /* the helper can look, where the broker cannot */
            follow_late(wish->user, wish->name, old);
        return false; /* else a zombie: threads of its process are left, but none that was ours */
    }
    struct attachment *next = attachment_new(wish, &identity, pidfd, old->by_file, &old->former);
    next->served = old->served;
    next->since = old->since;
    next->group = old->group;
    old->group = NULL; /* and its leaf is emptied when the thread gets one under its new id */
    attachment_end(wish);
    wish->attachment = next;
    wish->exited = false; /* that was the old id */
    if (attachment_watch(next))
        return true;
    follow_put_back(wish->user, wish->name, next);
    return false;
}
