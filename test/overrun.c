/* How much a SCHED_DEADLINE thread has overrun since the kernel's last tick, at the time of its
 * suspension.
 *
 * overrun COUNT: COUNT times a thread uses up a runtime of 1 ms and up to 3 ms more, without a
 * system call; is then made ordinary as rtf-guard does it; falls asleep; and is made real-time
 * again when the overrun is repaid. Prints how often the thread was real-time then; any other
 * failure is an error. */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "scheduling.h"
#include "guard/suspension.h"

enum stage { BEFORE, USES, OVERRAN, SLEEPS };
static volatile enum stage *stage; /* shared with the child */

static void pause_for(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&time, NULL);
}

static void use_until(int64_t then)
{
    while (monotonic_now() < then)
        ;
}

static _Noreturn void overrun(int us)
{
    while (*stage == BEFORE)
        pause_for(1);
    use_until(monotonic_now() + INT64_C(1000) * us);
    *stage = OVERRAN;
    while (*stage == OVERRAN)
        ;
    for (;;)
        (void)pause();
}

static bool comes_back(pid_t tid, const cpu_set_t *cpus)
{
    struct identity identity;
    struct overrun used = {0};
    char reason[APPLY_REASON];
    const struct placement placement = {0};
    const struct attributes wanted = {.policy = POLICY_DEADLINE,
                                      .runtime = 1000,
                                      .deadline = 20000,
                                      .period = 20000,
                                      .reset_on_fork = true,
                                      .cpus = *cpus};
    struct target target = {.tid = tid, .pidfd = thread_open(tid)};
    if (!thread_look(tid, &identity))
        exit(EX_OSERR);
    target.started_by = identity.started_by;
    if (scheduling_apply(&target, 0, &wanted, &placement, reason) != APPLY_DONE) {
        fprintf(stderr, "overrun: %s\n", reason);
        exit(EX_UNAVAILABLE);
    }
    *stage = USES;
    while (*stage != OVERRAN)
        ;
    const int64_t counted = suspend_deadline(&target, &used);
    *stage = SLEEPS;
    while (!thread_sleeps(tid) || monotonic_now() < counted)
        pause_for(1);
    const bool back = resume_deadline(&target, &wanted, &used) == APPLY_DONE;
    close(target.pidfd);
    return back;
}

int main(int argc, char **argv)
{
    enum { LEAST = 1100, MOST = 3900 }; /* us */
    const int count = argc == 2 ? atoi(argv[1]) : 0;
    int back = 0;
    cpu_set_t cpus;
    if (count < 1)
        return EX_USAGE;
    memset(&cpus, 0xff, sizeof cpus); /* the kernel removes CPUs that do not exist */
    stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stage == MAP_FAILED || sched_setaffinity(0, sizeof cpus, &cpus) != 0 ||
        sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return EX_OSERR;
    for (int i = 0; i < count; i++) {
        *stage = BEFORE;
        const pid_t child = fork();
        if (child < 0)
            return EX_OSERR;
        if (child == 0)
            overrun(LEAST + (MOST - LEAST) * i / count);
        back += comes_back(child, &cpus);
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    printf("%d\n", back);
    return EX_OK;
}
