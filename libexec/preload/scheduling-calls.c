/* Replaces libc's calls that make threads real-time or ordinary, in a program that does not know rtf
 * (LD_PRELOAD). A call that would make a thread real-time asks for a reservation instead, and
 * returns what the kernel would return. All other calls go to libc. */
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asked.h"
#include "budget.h"
#include "libc.h"
#include "schedattr.h"

/* Newer libcs declare sched_setattr with a struct of their own, so the function has another name in
 * C. */
int set_attr(pid_t thread, const void *attributes, unsigned flags) __asm__("sched_setattr");

/* Returns as the replaced call does: 0, or -1 with errno set to `error`. errno changes only on
 * failure. */
static int answer(int error)
{
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

/* Disables cancellation. None of the replaced calls is a cancellation point, but asking the broker
 * has many. A thread that is cancelled during the call ends after the call. */
static int put_off_cancellation(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void allow_cancellation(int before)
{
    (void)pthread_setcancelstate(before, NULL);
}

static int reserve(pid_t thread, const struct wanted *wanted)
{
    const int before = errno, state = put_off_cancellation();
    const int error = budget_reserve(thread, wanted);
    allow_cancellation(state);
    errno = before;
    return error;
}

static int reserve_fixed(pid_t thread, int policy, int priority)
{
    const struct wanted wanted = {.policy = policy & ~SCHED_RESET_ON_FORK, .priority = priority};
    const int error = priority < 1 || priority > HIGHEST ? EINVAL : reserve(thread, &wanted);
    if (error == 0)
        asked_remember(thread, policy, priority);
    return error;
}

static void end_if_reserved(pid_t thread)
{
    const int before = errno, state = put_off_cancellation(), policy = policy_of(thread);
    asked_forget(thread);
    if (policy > 0 && (policy & SCHED_RESET_ON_FORK) != 0) /* every grant sets this flag */
        budget_release(thread);
    allow_cancellation(state);
    errno = before;
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    if (is_fixed(policy) && pid >= 0 && param != NULL)
        return answer(reserve_fixed(id_of(pid), policy, param->sched_priority));
    if (pid >= 0)
        end_if_reserved(id_of(pid));
    return LIBC(sched_setscheduler)(pid, policy, param);
}

int sched_setparam(pid_t pid, const struct sched_param *param)
{
    const int policy = pid < 0 ? -1 : policy_of(pid);
    if (policy >= 0 && is_fixed(policy) && param != NULL)
        return answer(reserve_fixed(id_of(pid), policy, param->sched_priority));
    return LIBC(sched_setparam)(pid, param);
}

int pthread_setschedparam(pthread_t target_thread, int policy, const struct sched_param *param)
{
    const pid_t id = id_of_pthread(target_thread);
    if (id <= 0)
        return ESRCH;
    if (is_fixed(policy))
        return reserve_fixed(id, policy, param->sched_priority);
    end_if_reserved(id);
    return LIBC(pthread_setschedparam)(target_thread, policy, param);
}

int pthread_setschedprio(pthread_t target_thread, int prio)
{
    const pid_t id = id_of_pthread(target_thread);
    const int policy = id <= 0 ? -1 : policy_of(id);
    if (policy >= 0 && is_fixed(policy))
        return reserve_fixed(id, policy, prio);
    return LIBC(pthread_setschedprio)(target_thread, prio);
}

/* Converts ns to us. Rounds the runtime up, and deadline and period down, so that the thread never
 * gets less than it asked for. */
static int set_attributes(pid_t thread, const struct kernel_sched_attr *attributes)
{
    if (attributes->policy != SCHED_DEADLINE)
        return reserve_fixed(thread, (int)attributes->policy, (int)attributes->priority);
    const struct wanted wanted = {
        .policy = SCHED_DEADLINE,
        .runtime = (attributes->runtime + 999) / 1000,
        .deadline = attributes->deadline / 1000,
        .period = (attributes->period != 0 ? attributes->period : attributes->deadline) / 1000,
    };
    return wanted.runtime == 0 || wanted.deadline == 0 ? EINVAL : reserve(thread, &wanted);
}

static bool is_reserved_by(const struct kernel_sched_attr *attributes)
{
    return attributes != NULL &&
           (attributes->policy == SCHED_DEADLINE || is_fixed((int)attributes->policy));
}

int set_attr(pid_t thread, const void *attributes, unsigned flags)
{
    return (int)syscall(SYS_sched_setattr, thread, attributes, flags);
}

/* Returns an argument of syscall(2) that is a pointer. */
static const void *pointer_in(long word)
{
    return (const void *)word; /* NOLINT(performance-no-int-to-ptr) */
}

/* Programs use syscall(2) for calls that older libcs lack. */
long syscall(long sysno, ...)
{
    long words[6];
    va_list list;
    va_start(list, sysno);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    const pid_t thread = (pid_t)words[0];
    if (sysno == SYS_sched_setattr && thread >= 0) {
        const struct kernel_sched_attr *attributes = pointer_in(words[1]);
        if (is_reserved_by(attributes))
            return answer(set_attributes(id_of(thread), attributes));
        end_if_reserved(id_of(thread));
    }
    if (sysno == SYS_sched_setscheduler)
        return sched_setscheduler(thread, (int)words[1], pointer_in(words[2]));
    if (sysno == SYS_sched_setparam)
        return sched_setparam(thread, pointer_in(words[1]));
    return LIBC(syscall)(sysno, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* ---- a thread that is real-time from its start ---- */

/* The creating thread asks the broker while the new thread waits. The new thread must not ask: its
 * creator may be a library's constructor that holds the loader's lock, and looking up the user's
 * name may load another library. */
struct start {
    void *(*routine)(void *);
    void *argument;
    pid_t thread;
    int error;
    /* after is_read the new thread does not touch this struct, which is on the creator's stack */
    sem_t is_there, decided, is_read;
};

static void wait_for(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        ;
}

static void *begin(void *argument)
{
    struct start *start = argument;
    const int state = put_off_cancellation();
    start->thread = gettid();
    sem_post(&start->is_there);
    wait_for(&start->decided);
    void *(*const routine)(void *) = start->routine;
    void *const own = start->argument;
    const int error = start->error;
    sem_post(&start->is_read);
    allow_cancellation(state);
    return error == 0 ? routine(own) : NULL;
}

static int create_and_decide(pthread_t *thread, const pthread_attr_t *attributes,
                             struct start *start, int policy, int priority)
{
    pthread_attr_t ordinary = *attributes; /* a shallow copy, not to be destroyed */
    int detached = PTHREAD_CREATE_JOINABLE;
    pthread_attr_setinheritsched(&ordinary, PTHREAD_INHERIT_SCHED);
    pthread_attr_getdetachstate(attributes, &detached);
    sem_init(&start->is_there, 0, 0);
    sem_init(&start->decided, 0, 0);
    sem_init(&start->is_read, 0, 0);
    const int error = LIBC(pthread_create)(thread, &ordinary, begin, start);
    if (error != 0)
        return error;
    wait_for(&start->is_there);
    start->error = reserve_fixed(start->thread, policy, priority);
    sem_post(&start->decided);
    wait_for(&start->is_read);
    if (start->error != 0 && detached == PTHREAD_CREATE_JOINABLE)
        pthread_join(*thread, NULL);
    return start->error;
}

/* Warns once in each process: POSIX ignores the policy of attributes without
 * PTHREAD_EXPLICIT_SCHED, and many programs forget this flag. */
static void warn_of_ignored_policy(int policy)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&warned))
        budget_warn(policy);
}

int pthread_create(pthread_t *newthread, const pthread_attr_t *attr, void *(*start_routine)(void *),
                   void *arg)
{
    int inherits = PTHREAD_INHERIT_SCHED, policy = SCHED_OTHER;
    struct sched_param param = {0};
    if (attr != NULL && (pthread_attr_getinheritsched(attr, &inherits) != 0 ||
                         pthread_attr_getschedpolicy(attr, &policy) != 0 ||
                         pthread_attr_getschedparam(attr, &param) != 0))
        inherits = PTHREAD_INHERIT_SCHED;
    if (inherits != PTHREAD_EXPLICIT_SCHED && is_fixed(policy))
        warn_of_ignored_policy(policy);
    if (inherits != PTHREAD_EXPLICIT_SCHED || !is_fixed(policy))
        return LIBC(pthread_create)(newthread, attr, start_routine, arg);
    struct start start = {.routine = start_routine, .argument = arg};
    const int state = put_off_cancellation();
    const int error = create_and_decide(newthread, attr, &start, policy, param.sched_priority);
    allow_cancellation(state);
    return error;
}
