/* into-group - a process that starts its children in another group
 *
 * usage: into-group DIRECTORY
 *
 * Waits until its second thread is real-time, and is named `moving` from then on. Then this thread
 * starts children in the group of cgroup version 2 with this directory, by clone3(2) with
 * CLONE_INTO_CGROUP. Each child uses all CPU time that it gets for 50 ms. Ends with 1 if the kernel
 * refuses. */
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 8 };
static const int64_t life = 50000000; /* ns */
static int group;

static int64_t now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void *start_children(void *unused)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP,
                              .exit_signal = SIGCHLD,
                              .cgroup = (uint64_t)group};
    while ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER)
        (void)usleep(1000);
    (void)prctl(PR_SET_NAME, "moving");
    for (int children = 0;; children++) {
        if (children == CHILDREN && wait(NULL) > 0)
            children--;
        const long child = syscall(SYS_clone3, &args, sizeof args);
        if (child < 0)
            exit(1);
        if (child > 0)
            continue;
        for (const int64_t until = now() + life; now() < until;)
            ;
        _exit(0);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    group = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (group < 0 || pthread_create(&thread, NULL, start_children, NULL) != 0)
        return 64;
    for (;;)
        (void)pause();
}
