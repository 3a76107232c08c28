#include "give-extras.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cpu-latency.h"
#include "extras.h"
#include "inherited-lock-limit.h"
#include "retry.h"
#include "schedattr.h"
#include "thread.h"

/* values of include/uapi/linux/sched.h */
enum { KEEP_POLICY = 0x08, KEEP_PARAMS = 0x10, UTIL_CLAMP_MIN = 0x20, UTIL_CLAMP_MAX = 0x40 };

struct gift {
    pid_t tid;
    uint64_t started_by;
    struct extras extras;
    bool scheduled, former_reset, touches_nice, touches_clamp;
    int former_nice;
    bool takes_back; /* the request states no extra, so all extras are taken back */
};

static bool get(const struct paragraph *request, const char *key, uint64_t max, uint64_t *number)
{
    *number = 0;
    return paragraph_get_number(request, key, max, number) >= 0;
}

static bool get_gift(const struct paragraph *request, struct gift *gift)
{
    uint64_t tid, scheduled, nice, reset, touches_nice, touches_clamp;
    if (!get(request, "tid", INT32_MAX, &tid) || tid == 0 ||
        !get(request, "started_by", UINT64_MAX, &gift->started_by) ||
        !get(request, "scheduled", 1, &scheduled) ||
        !get(request, "former_nice", 19 + NICE_OFFSET, &nice) ||
        !get(request, "reset_on_fork", 1, &reset) ||
        !get(request, "touches_nice", 1, &touches_nice) ||
        !get(request, "touches_clamp", 1, &touches_clamp) || !extras_get(request, &gift->extras))
        return false;
    gift->tid = (pid_t)tid;
    gift->scheduled = scheduled != 0;
    gift->former_nice = (int)nice - NICE_OFFSET;
    gift->former_reset = reset != 0;
    gift->touches_nice = touches_nice != 0;
    gift->touches_clamp = touches_clamp != 0;
    gift->takes_back = !extras_any(&gift->extras);
    return true;
}

static bool get_limited(const struct paragraph *request, struct limited *limited)
{
    uint64_t process, owner, soft, hard;
    const int owned = paragraph_get_number(request, "owner", UINT32_MAX - 1, &owner);
    if (!get(request, "process", INT32_MAX, &process) || process == 0 || owned < 0 ||
        !get(request, "started_by", UINT64_MAX, &limited->started_by) ||
        !get(request, "lock_since", UINT64_MAX, &limited->since) ||
        !get(request, "lock_was", LOCK_MEMORY_MAX, &limited->limit.was) ||
        !get(request, "lock_is", LOCK_MEMORY_MAX, &limited->limit.is) ||
        !get(request, "lock_soft", UINT64_MAX, &soft) ||
        !get(request, "lock_hard", UINT64_MAX, &hard))
        return false;
    limited->process = (pid_t)process;
    limited->has_owner = owned == 1;
    limited->owner = owned == 1 ? (uid_t)owner : 0;
    limited->limit.former = (struct rlimit){.rlim_cur = soft, .rlim_max = hard};
    return true;
}

/* ---- the extras of the thread ---- */

/* Sets the nice value of the thread, or takes it back. A thread that keeps its policy gets
 * reset-on-fork with a nice value below 0, so that its children do not inherit the value. When the
 * nice value is taken back, the thread keeps a weaker value that its user has set. */
static bool set_nice(const struct gift *gift, struct attributes *before)
{
    const int wanted = gift->extras.nice != 0 ? gift->extras.nice : gift->former_nice;
    if (!retry_get(gift->tid, before))
        return false;
    if (!gift->touches_nice || (gift->extras.nice == 0 && before->nice > gift->former_nice))
        return true;
    if (gift->scheduled || policy_is_real_time(before->policy))
        return setpriority(PRIO_PROCESS, (id_t)gift->tid, wanted) == 0;
    struct attributes next = *before;
    next.nice = wanted;
    next.reset_on_fork = gift->extras.nice != 0 || gift->former_reset;
    return retry_set(gift->tid, &next) == 0;
}

/* Sets the utilization clamps of the thread. UINT32_MAX (-1) restores the kernel's default
 * clamp. */
static bool set_clamp(const struct gift *gift)
{
    if (!gift->touches_clamp)
        return true;
    const struct kernel_sched_attr attr = {
        .size = sizeof attr,
        .flags = KEEP_POLICY | KEEP_PARAMS | UTIL_CLAMP_MIN | UTIL_CLAMP_MAX,
        .util_min = gift->extras.clamp_min == 0 ? UINT32_MAX : (uint32_t)gift->extras.clamp_min - 1,
        .util_max =
            gift->extras.clamp_max == 0 ? UINT32_MAX : (uint32_t)gift->extras.clamp_max - 1};
    return sched_setattr_of(gift->tid, &attr) == 0;
}

static enum apply_result failed(const struct gift *gift, const char *what, char *reason)
{
    return errno == ESRCH ? APPLY_GONE
                          : apply_refuse(reason, "%s of thread %d cannot be set: %s", what,
                                         (int)gift->tid, strerror(errno));
}

static enum apply_result give_to_thread(const struct gift *gift, char *reason)
{
    const int pidfd = thread_open(gift->tid);
    struct attributes before;
    enum apply_result done = APPLY_DONE;
    if (pidfd < 0 || !thread_is(gift->tid, gift->started_by))
        done = failed(gift, "the attributes", reason);
    else if (!set_nice(gift, &before))
        done = failed(gift, "the nice value", reason);
    else if (!set_clamp(gift))
        done = failed(gift, "the clamp", reason);
    if (pidfd >= 0) {
        if (done == APPLY_DONE && thread_has_ended(pidfd)) {
            /* another thread may have the id by now: gives that thread its attributes back */
            if (gift->touches_nice && !gift->scheduled)
                (void)retry_set(gift->tid, &before);
            done = APPLY_GONE;
        }
        close(pidfd);
    }
    return done;
}

enum apply_result give_extras(const struct paragraph *request, char reason[static APPLY_REASON])
{
    struct gift gift = {0};
    struct limited limited = {0};
    uint64_t latency;
    if (!get_gift(request, &gift) || !get_limited(request, &limited) ||
        !get(request, "held_latency", CPU_LATENCY_MAX, &latency))
        return apply_refuse(reason, "the request give lacks tid or process, or has a wrong value");
    if (!cpu_latency_hold(latency, reason) && !gift.takes_back)
        return APPLY_REFUSED;
    enum apply_result done = APPLY_DONE;
    if (limited.limit.was != 0 || limited.limit.is != 0)
        done = lock_memory_limit(&limited, reason);
    const enum apply_result of_thread =
        done == APPLY_REFUSED && !gift.takes_back ? APPLY_REFUSED : give_to_thread(&gift, reason);
    done = done == APPLY_DONE ? of_thread : done;
    /* nothing has to be taken back from a thread that has ended */
    return gift.takes_back && done == APPLY_GONE ? APPLY_DONE : done;
}
