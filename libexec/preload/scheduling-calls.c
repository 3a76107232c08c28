/* Replaces libc's scheduling calls in a program that does not know rtf (LD_PRELOAD). A call that
 * would make a thread real-time asks for a reservation instead, and returns what the kernel would
 * return. All other calls go to libc. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asked.h"
#include "budget.h"
#include "schedattr.h"

/* Newer libcs declare sched_setattr with a struct of their own, so the function has another name in
 * C. */
int set_attr(pid_t thread, const void *attributes, unsigned flags) __asm__("sched_setattr");

enum { HIGHEST = 99 }; /* the highest priority of SCHED_FIFO and SCHED_RR */

/* Converts dlsym's pointer to a function pointer of the right type. */
#define LIBC(name) ((__typeof__(&(name)))libc_function(#name))
typedef void function(void);
static struct {
    const char *name;
    function *found;
} replaced[] = {{.name = "sched_getscheduler"},
                {.name = "sched_getparam"},
                {.name = "sched_setscheduler"},
                {.name = "sched_setparam"},
                {.name = "pthread_getschedparam"},
                {.name = "pthread_setschedparam"},
                {.name = "pthread_setschedprio"},
                {.name = "pthread_create"},
                {.name = "getrlimit"},
                {.name = "getrlimit64"},
                {.name = "syscall"}};
enum { REPLACED = sizeof replaced / sizeof *replaced };

static function *look_up(const char *name)
{
    function *found;
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(&found, &address, sizeof found);
    return found;
}

/* Finds libc's functions before the program starts threads, because dlsym(3) takes the loader's
 * lock. A new thread must not wait for this lock: its creator may be a library's constructor, which
 * holds the lock and waits for the thread. */
__attribute__((constructor)) static void look_up_all(void)
{
    for (size_t i = 0; i < REPLACED; i++)
        replaced[i].found = look_up(replaced[i].name);
}

/* Returns libc's function. The constructor above has found it, except for calls by constructors of
 * other libraries that run earlier. */
static function *libc_function(const char *name)
{
    size_t i = 0;
    while (i < REPLACED && strcmp(replaced[i].name, name) != 0)
        i++;
    function *const found = i < REPLACED ? replaced[i].found : NULL;
    return found != NULL ? found : look_up(name);
}

static bool is_fixed(int policy)
{
    return (policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO ||
           (policy & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

static pid_t id_of(pid_t thread)
{
    return thread == 0 ? gettid() : thread;
}

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
 * has many. A thread that is cancelled meanwhile ends after the call. */
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

/* Returns the thread's policy in the kernel; -1 with errno. */
static int policy_of(pid_t thread)
{
    return LIBC(sched_getscheduler)(thread);
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

/* Gets a thread's kernel id from the id of the thread's CPU-time clock, which contains the kernel
 * id. */
static pid_t id_of_pthread(pthread_t thread)
{
    clockid_t clock;
    if (pthread_equal(thread, pthread_self()))
        return gettid();
    return pthread_getcpuclockid(thread, &clock) == 0 ? ~(clock >> 3) : 0;
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

/* ---- what the program reads back ---- */

/* True: the thread has a reservation, and the program asked for *policy and *priority. So a program
 * that compares finds the values that it asked for; chrt(1) shows the kernel's values. */
static bool reads_back(pid_t thread, int *policy, int *priority)
{
    const int now = policy_of(thread);
    return now >= 0 && is_fixed(now) && (now & SCHED_RESET_ON_FORK) != 0 &&
           asked_recall(thread, policy, priority);
}

int sched_getscheduler(pid_t pid)
{
    const int before = errno;
    int policy, priority;
    if (pid >= 0 && reads_back(id_of(pid), &policy, &priority))
        return policy;
    errno = before;
    return policy_of(pid);
}

int sched_getparam(pid_t pid, struct sched_param *param)
{
    const int before = errno;
    int policy, priority;
    if (pid >= 0 && param != NULL && reads_back(id_of(pid), &policy, &priority)) {
        param->sched_priority = priority;
        return 0;
    }
    errno = before;
    return LIBC(sched_getparam)(pid, param);
}

/* Asks the kernel, because libc returns the values that it was told last, and knows nothing of
 * reservations. */
int pthread_getschedparam(pthread_t target_thread, int *policy, struct sched_param *param)
{
    const pid_t id = id_of_pthread(target_thread);
    const int before = errno;
    if (id <= 0)
        return ESRCH;
    const int now = sched_getscheduler(id);
    const bool known = now >= 0 && sched_getparam(id, param) == 0;
    errno = before;
    if (!known)
        return LIBC(pthread_getschedparam)(target_thread, policy, param);
    *policy = now;
    return 0;
}

/* Reports no limit of priorities, because some programs ask for no priority above RLIMIT_RTPRIO.
 * Here the rules of rtf decide, and not this limit. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *rlimits)
{
    const int result = LIBC(getrlimit)(resource, rlimits);
    if (result == 0 && resource == RLIMIT_RTPRIO)
        rlimits->rlim_cur = rlimits->rlim_max = HIGHEST;
    return result;
}

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *rlimits)
{
    const int result = LIBC(getrlimit64)(resource, rlimits);
    if (result == 0 && resource == RLIMIT_RTPRIO)
        rlimits->rlim_cur = rlimits->rlim_max = HIGHEST;
    return result;
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
