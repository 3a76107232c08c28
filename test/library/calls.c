/* calls: a program that sets its own policies and knows nothing of rtf, for
 * test/front/preload.bats. Exit 0 if each call answers and does what it says. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

#define IS(condition) is(condition, #condition, __LINE__)
static void is(int condition, const char *text, int line)
{
    if (condition)
        return;
    fprintf(stderr, "calls.c:%d: not so: %s; errno %d, policy %d\n", line, text, errno,
            sched_getscheduler(0));
    exit(1);
}

static int policy(void)
{
    return (int)(syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK);
}

static void *work(void *result)
{
    *(int *)result = policy();
    return result;
}

/* Returns 0 and the former policy of the thread, or the error. */
static int create(int wanted, int priority, int *result)
{
    pthread_attr_t attributes;
    pthread_t thread;
    const struct sched_param param = {.sched_priority = priority};
    pthread_attr_init(&attributes);
    pthread_attr_setschedpolicy(&attributes, wanted);
    pthread_attr_setschedparam(&attributes, &param);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    const int error = pthread_create(&thread, &attributes, work, result);
    pthread_attr_destroy(&attributes);
    if (error == 0)
        pthread_join(thread, NULL);
    return error;
}

static volatile int go_on = 1;
static pid_t id_of_other;
static pthread_barrier_t barrier;
static void *other(void *unused)
{
    id_of_other = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(&barrier);
    while (go_on)
        usleep(1000);
    return unused;
}

static void fixed_priorities(void)
{
    struct sched_param param = {.sched_priority = 15};
    IS(sched_setscheduler(0, SCHED_FIFO, &param) == 0 && policy() == SCHED_FIFO);
    param.sched_priority = 16;
    IS(sched_setparam(0, &param) == 0 && policy() == SCHED_FIFO);
    IS(pthread_setschedprio(pthread_self(), 14) == 0 && policy() == SCHED_FIFO);
    param.sched_priority = 5;
    IS(pthread_setschedparam(pthread_self(), SCHED_RR, &param) == 0 && policy() == SCHED_RR);
    param.sched_priority = 0;
    IS(sched_setscheduler(0, SCHED_OTHER, &param) == 0 && policy() == SCHED_OTHER);
    IS(sched_setscheduler(0, SCHED_FIFO, &param) == -1 && errno == EINVAL);
    param.sched_priority = 100;
    IS(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == EINVAL);
    param.sched_priority = 15;
    errno = 0;
    IS(sched_setscheduler(1, SCHED_FIFO, &param) == -1 && errno == EPERM);
    IS(sched_setscheduler(4194304, SCHED_FIFO, &param) == -1 && errno == ESRCH);
    IS(sched_setscheduler(0, 77, &param) == -1 && errno == EINVAL);
}

static void deadlines(void)
{
    struct attr attr = {.size = sizeof attr,
                        .policy = 6,
                        .runtime = 2000000,
                        .deadline = 10000000,
                        .period = 20000000},
                got = {0};
    IS(syscall(SYS_sched_setattr, 0, &attr, 0) == 0 && policy() == 6);
    IS(syscall(SYS_sched_getattr, 0, &got, sizeof got, 0) == 0 && got.runtime == 2000000 &&
       got.deadline == 10000000 && got.period == 20000000);
    attr.runtime = 2000001; /* rtf rounds to us: the runtime up, the deadline and the period down */
    attr.deadline = attr.period = 20000999;
    IS(syscall(SYS_sched_setattr, 0, &attr, 0) == 0 && policy() == 6);
    IS(syscall(SYS_sched_getattr, 0, &got, sizeof got, 0) == 0 && got.runtime == 2001000 &&
       got.deadline == 20000000 && got.period == 20000000);
    attr.deadline = attr.period = 20000000;
    attr.runtime = 30000000;
    IS(syscall(SYS_sched_setattr, 0, &attr, 0) == -1 && errno == EINVAL && policy() == 6);
    attr.runtime = attr.deadline = attr.period = 20000000;
    IS(syscall(SYS_sched_setattr, 0, &attr, 0) == -1 && errno == EBUSY && policy() == 6);
    attr = (struct attr){.size = sizeof attr, .policy = SCHED_OTHER};
    IS(syscall(SYS_sched_setattr, 0, &attr, 0) == 0 && policy() == SCHED_OTHER);
    IS(syscall(SYS_getpid) == getpid());
}

int main(void)
{
    pthread_t thread;
    int result = -1;
    const struct sched_param param = {.sched_priority = 13};
    fixed_priorities();
    deadlines();
    IS(create(SCHED_FIFO, 15, &result) == 0 && result == SCHED_FIFO);
    IS(create(SCHED_RR, 5, &result) == 0 && result == SCHED_RR);
    IS(create(SCHED_FIFO, 0, &result) == EINVAL);
    IS(create(SCHED_OTHER, 0, &result) == 0 && result == SCHED_OTHER);
    pthread_barrier_init(&barrier, NULL, 2);
    IS(pthread_create(&thread, NULL, other, NULL) == 0);
    pthread_barrier_wait(&barrier);
    IS(pthread_setschedparam(thread, SCHED_FIFO, &param) == 0);
    IS((sched_getscheduler(id_of_other) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO &&
       policy() == SCHED_OTHER);
    go_on = 0;
    pthread_join(thread, NULL);
    return 0;
}
