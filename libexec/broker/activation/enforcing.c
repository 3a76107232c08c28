#include "enforcing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounting.h"
#include "adjusting.h"
#include "asking.h"
#include "attach.h"
#include "attachments.h"
#include "cgroup.h"
#include "drift.h"
#include "follow.h"
#include "guard.h"
#include "readers.h"
#include "rest.h"
#include "resting.h"
#include "threads.h"
#include "wishes.h"

static bool elsewhere(const struct wish *wish, pid_t tid)
{
    const struct attachment *other = attachment_find(tid);
    return other != NULL && other->wish != wish && !attachment_is_over(other);
}

/* A file that is older than the thread it names means another thread, long gone. The kernel's clock tick and
 * the coarse time of files blur this. */
static const int64_t blur = INT64_C(20000000);

static bool is_older(const struct stamp *file, const struct identity *identity)
{
    return file->changed + blur < thread_started(identity);
}

/* Then it is not older than any thread. */
static bool is_just_written(const struct stamp *file)
{
    return file->changed + blur >= realtime_now();
}

/* A NAME.tid of another boot, or of a thread that is no more, can only ever do harm. */
static void drop_stale(struct request *request)
{
    reader_remove(request->wish->user, request->wish->name, "tid", &request->tid.stamp);
    request->tid.stamp = (struct stamp){0};
}

/* Where a thread is to be put back to. One that an attached thread has started is in that one's leaf of a domain, which
 * goes with it. */
bool group_of(pid_t tid, char **group)
{
    char mount[GROUP_BYTES], path[GROUP_BYTES];
    cpu_set_t domains;
    int cpu, length = 0;
    pid_t parent;
    unsigned long long started_by;
    *group = NULL;
    plugins_domains(&domains);
    if (CPU_COUNT(&domains) == 0)
        return true;
    if (!thread_group(cpusets_find(mount), tid, path))
        return false;
    if (sscanf(path, "/rtf-%d/t%d.%llu%n", &cpu, &parent, &started_by, &length) == 3 && path[length] == '\0') {
        const struct attachment *other = attachment_find(parent);
        if (other == NULL || other->started_by != started_by || other->group == NULL) {
            errno = EAGAIN; /* who started it has just ended, and it is about to be taken out of there */
            return false;
        }
        snprintf(path, sizeof path, "%s", other->group);
    }
    *group = strdup(path);
    return *group != NULL;
}

/* The thread the owner means, or why it is not to be had. */
static struct attachment *look_at_target(struct request *request, pid_t tid, bool by_file)
{
    struct wish *wish = request->wish;
    struct identity identity;
    struct attributes former;
    char *group;
    uid_t uid = wish->user->uid;
    const struct stamp *file = by_file ? &request->tid.stamp : &request->json.stamp;
    const char *name = by_file ? ".tid" : ".json";
    int pidfd = thread_find(tid, !is_just_written(file), &identity);
    if (pidfd < 0) {
        say(request, ATTACH_FAIL, "there is no thread %d", (int)tid);
        if (by_file && is_older(file, &(struct identity){.start = 0}))
            drop_stale(request);
    } else if (identity.kernel)
        say(request, ATTACH_FAIL, "thread %d is a kernel thread", (int)tid);
    else if (uid != 0 && (identity.real_uid != uid || identity.effective_uid != uid || identity.saved_uid != uid))
        say(request, ATTACH_FAIL, "thread %d is not yours: it runs as uid %u (effective %u, saved %u), you are %u", (int)tid, identity.real_uid,
            identity.effective_uid, identity.saved_uid, uid);
    else if (is_older(file, &identity)) {
        say(request, ATTACH_FAIL, "%s%s is older than thread %d: it means another one that had this id", wish->name, name, (int)tid);
        if (by_file)
            drop_stale(request);
    } else if (elsewhere(wish, tid)) {
        say(request, ATTACH_FAIL, "thread %d is attached to another reservation already", (int)tid);
        request->taken = true;
    } else if (leader_is_alike(&identity)) {
        say(request, ATTACH_FAIL, "the first thread of its process, %d, is real-time with reset-on-fork by other means: after an execve thread %d "
            "could not be told from it", (int)identity.process, (int)tid);
        request->taken = true;
    } else if (!thread_attributes(tid, &former))
        say(request, ATTACH_FAIL, "thread %d cannot be looked at: %s", (int)tid, strerror(errno));
    else if (!group_of(tid, &group)) {
        request->taken = errno == EAGAIN;
        say(request, ATTACH_FAIL, "it cannot be told which cpuset group thread %d would have to be put back to: %s", (int)tid, strerror(errno));
    } else {
        follow_former(&identity, &former);
        struct attachment *target = attachment_new(wish, &identity, pidfd, by_file, &former);
        target->group = group;
        return target;
    }
    if (pidfd >= 0)
        close(pidfd);
    return NULL;
}

static enum next no_thread(struct request *request, const char *by, bool never)
{
    request_event(request, "attach", "refused", -1, request->outcome.reason);
    blame(request, by, never);
    request->recorded = false;
    return ANSWER;
}

/* The change cannot be had, and what was given up for it has been taken by somebody else meanwhile. */
static enum next lost_both(struct request *request)
{
    size_t length = strlen(request->outcome.reason);
    snprintf(request->outcome.reason + length, sizeof request->outcome.reason - length,
             "; and what it had before has been granted to others meanwhile");
    (void)no_thread(request, "kernel", false);
    return request->wish->attachment == NULL ? ANSWER : detach(request);
}

static enum next apply(struct request *request)
{
    struct wish *wish = request->wish;
    request->fresh |= request->target != NULL;
    request->target = NULL;
    /* Former attributes reach state/ before the call that changes them. */
    if (request_record(request))
        return wait_for_helper(request, STEP_APPLY, helper_apply(wish->attachment, wish->grant, wish->json.fd));
    say(request, ATTACH_FAIL, "the broker cannot write its state: %s", strerror(errno));
    if (request->fresh)
        attachment_end(wish);
    else if (request->old != NULL && !uncommit(request))
        return lost_both(request);
    return no_thread(request, "broker", false);
}

static enum next adopt_target(struct request *request)
{
    struct wish *wish = request->wish;
    wish->attachment = request->target;
    wish->attachment->since = monotonic_now();
    wish->exited = false;
    if (attachment_watch(wish->attachment))
        return apply(request);
    say(request, ATTACH_FAIL, "thread %d cannot be watched: %s", (int)wish->attachment->tid, strerror(errno));
    request->target = NULL;
    attachment_end(wish);
    return no_thread(request, "broker", false);
}

enum next detach_on(struct request *request)
{
    return wait_for_helper(request, STEP_DETACH, helper_restore(request->wish->attachment));
}

enum next detach(struct request *request)
{
    if (request->outcome.kind == DETACH || request->outcome.kind == RELEASE)
        (void)has_drifted(request->wish);
    return detach_on(request);
}

/* Nothing to schedule: it is enough that the grant is written down. */
static enum next grant_only(struct request *request)
{
    struct wish *wish = request->wish;
    if (request_record(request) || request->old != NULL)
        return ANSWER;
    say(request, SCHEDULE_FAIL, "the broker cannot write its state: %s", strerror(errno));
    blame(request, "broker", false);
    grant_unbook(wish, true);
    return ANSWER;
}

static bool is_attached(const struct attachment *now, pid_t tid)
{
    return now != NULL && now->tid == tid && !attachment_is_over(now);
}

enum next enforce(struct request *request)
{
    struct wish *wish = request->wish;
    struct attachment *now = wish->attachment;
    bool by_file = request->outcome.kind == ATTACH;
    pid_t by_key = wish->grant->spec.attach;
    pid_t wanted = by_file ? request->spec.attach : by_key != 0 ? by_key : now != NULL && now->by_file ? now->tid : 0;
    if (wanted == 0 && now == NULL)
        return grant_only(request);
    bool same = is_attached(now, wanted);
    if (wanted != 0 && rest_applies(wish->grant) && !(same && now->served) && resting_waits(request, ENFORCE)) {
        if (same)
            (void)helper_restore(now); /* what it was granted before is in no books any more */
        return WAIT;
    }
    if (same)
        return apply(request);
    if (wanted != 0) {
        request->target = look_at_target(request, wanted, by_file);
        if (request->target == NULL) {
            blame(request, "broker", !request->taken);
            request_event(request, "attach", "refused", -1, request->outcome.reason);
        }
    }
    if (now != NULL)
        return detach(request); /* even if the other is not to be had: the file no longer names this one */
    return request->target != NULL ? adopt_target(request) : ANSWER;
}

/* It is ordinary, but the kernel still counts its bandwidth where it is. */
static bool owes(struct request *request, const struct helper_event *event, enum next then)
{
    int64_t until = event->after == 0 ? 0 : monotonic_now() + event->after;
    if (until > request->wish->rests_until)
        request->wish->rests_until = until;
    return until > 0 && resting_waits(request, then);
}

static enum next detached(struct request *request, const struct helper_event *event)
{
    struct wish *wish = request->wish;
    if (event->answer == HELPER_GONE)
        (void)follow_exec(wish);
    if (event->answer == HELPER_PENDING && owes(request, event, DETACH_ON))
        return WAIT;
    if (event->answer != HELPER_OK && event->answer != HELPER_GONE)
        request_event(request, "attach", "error", -1, event->reason);
    else if (!request->fresh) /* that it could not be attached has been said */
        request_event(request, "attach", "ok", -1, "detached: what it was before is put back");
    rest_begin(wish, wish->grant);
    if (event->answer == HELPER_GONE)
        rest_of_thread(wish);
    attachment_end(wish);
    request->recorded = false;
    if (request->outcome.kind == RELEASE)
        return RELEASED;
    if (request->target == NULL)
        return ANSWER;
    attachment_bury(request->target);
    request->target = NULL;
    (void)wish_record(wish); /* that it is not attached, for as long as the reservation rests */
    return ENFORCE;
}

/* It may have woken before it was watched. */
static bool runs_by_now(const struct wish *wish)
{
    struct identity now;
    return thread_look(wish->attachment->tid, &now) && now.runnable && CPU_ISSET((size_t)now.cpu, &wish->grant->plan.cpus);
}

/* Each costs the broker something, and the thread's owner decides how often it happens. A pause is as good as some. */
enum { NAPS = 50, AT_ONCE = 3, NAPS_IN_PAUSE = 7 };

/* A thread that runs, and cannot be SCHED_DEADLINE yet: its runtime was used up when it was taken from its CPU, and comes
 * back at the end of its period; or it holds a lock in the kernel, and is kept from running on (PREEMPT_RT). */
static int64_t pause_of(const struct wish *wish)
{
    const int64_t first = INT64_C(10000000), period = (int64_t)wish->grant->plan.period * 1000;
    int64_t pause = first << ((wish->attachment->naps - AT_ONCE - 1) / NAPS_IN_PAUSE);
    return pause > period ? pause : period;
}

/* The thread sleeps, and the kernel makes it real-time only when it runs. */
static enum next pending(struct request *request, const struct helper_event *event)
{
    struct wish *wish = request->wish;
    int watch = event->watch;
    if (watch < 0 && wish->attachment->watch >= 0)
        watch = dup(wish->attachment->watch);
    bool watched = attachment_keep_watch(wish->attachment, watch, true);
    if (!watched || wish->attachment->naps++ >= NAPS) {
        say(request, ATTACH_FAIL, watched ? "thread %d never runs long enough: make it real-time while it computes, or a new one"
                                          : "thread %d sleeps, and nothing would tell when it wakes: the kernel gives no perf events",
            (int)wish->attachment->tid);
        (void)no_thread(request, "kernel", false);
        return detach(request);
    }
    if (runs_by_now(wish) && wish->attachment->naps > AT_ONCE && wish->grant->plan.policy == POLICY_DEADLINE) {
        wish->rests_until = monotonic_now() + pause_of(wish);
        wish->attachment->naps += NAPS_IN_PAUSE - 1;
        wish->attachment->served = false;
        if (resting_waits(request, ENFORCE))
            return WAIT;
    }
    if (runs_by_now(wish))
        return wait_for_helper(request, STEP_APPLY, helper_apply(wish->attachment, wish->grant, wish->json.fd));
    wish->attachment->pending = true;
    size_t length = request->outcome.kind == UPDATE ? 0 : strlen(request->outcome.reason);
    snprintf(request->outcome.reason + length, sizeof request->outcome.reason - length, "%sthread %d sleeps, and is real-time as soon as it wakes",
             length == 0 ? "" : "; ", (int)wish->attachment->tid);
    request_event(request, "attach", "ok", wish->grant->plugin, "it sleeps: attached when it wakes");
    return ANSWER;
}

/* What is missing may be what the guard has for itself. Once: what the kernel then refuses still is not there. */
static bool waits_for_the_guard(struct request *request)
{
    struct wish *wish = request->wish;
    if (request->has_asked_guard) {
        guard_rise();
        return false;
    }
    request->has_asked_guard = true;
    guard_yield();
    wish->rests_until = monotonic_now() + GUARD_YIELDS_IN;
    wish->attachment->served = false;
    return resting_waits(request, ENFORCE);
}

static enum next applied(struct request *request, const struct helper_event *event)
{
    struct wish *wish = request->wish;
    wish->attachment->pending = wish->attachment->awake = false;
    if (event->answer == HELPER_PENDING)
        return owes(request, event, ENFORCE) ? WAIT : pending(request, event);
    if (event->answer == HELPER_OK) {
        wish->attachment->naps = 0;
        guard_begin(wish->attachment, wish->grant, event->watch, false);
        attachment_watch_soon(wish->attachment);
        wish->attachment->served |= rest_applies(wish->grant);
        request_event(request, "attach", "ok", wish->grant->plugin, "attached: it runs as granted");
        return ANSWER;
    }
    if (event->answer == HELPER_GONE && request->outcome.kind == UPDATE) {
        wish->exited = true;
        return LOOK_AGAIN;
    }
    if (event->answer == HELPER_GONE) {
        say(request, ATTACH_FAIL, "thread %d has %s", (int)wish->attachment->tid, follow_exec(wish) ? "called execve, and is not real-time as what it became" : "ended");
        wish->attachment->served = true; /* it may have ended after the call */
        rest_begin(wish, wish->grant);
        rest_of_thread(wish);
        attachment_end(wish);
        if (wish->grant->spec.lifetime_thread) {
            wish->ending = true;
            reader_remove(wish->user, wish->name, "json", &wish->judged);
        }
        return no_thread(request, "broker", true);
    }
    if (event->answer == HELPER_BUSY && waits_for_the_guard(request))
        return WAIT;
    say(request, ATTACH_FAIL, "%.400s", event->reason);
    /* The helper has put back what it found: under a change, that is what the old grant gave. Else the thread is not one that this
     * wish may have, or have any longer, and it is detached: even one that was not attached before, for the helper may have died
     * over it and left it half done. Whoever asks for the thread next must not find that. */
    bool never = event->answer != HELPER_BUSY;
    if (request->fresh || request->old == NULL) {
        (void)no_thread(request, "kernel", never);
        return detach(request);
    }
    if (!uncommit(request))
        return lost_both(request);
    if (has_drifted(wish)) /* putting back has failed, too */
        adjusting_expect(wish, helper_apply_again(wish->attachment, wish->grant), false);
    else
        adjusting_guard_again(wish); /* in what it had before */
    return no_thread(request, "kernel", never);
}

enum next helper_answered(struct request *request, const struct helper_event *event)
{
    if (event->answer == HELPER_OK && event->after > 0)
        rest_in_kernel(monotonic_now() + event->after);
    return request->step == STEP_DETACH ? detached(request, event) : applied(request, event);
}
