/* escape - a process that tries to have real-time threads while it has none
 *
 * usage: escape comets|slow
 *
 * Waits until its second thread is real-time, and is named `escapes` from then on. Then, with comets, threads start one another and end
 * at once, on all CPUs: whoever lists the threads of the process finds no thread of the list later.
 * With slow, this thread forks again and again. A fork takes some ms, because the process has many
 * mappings: so the thread is often made ordinary before the child is there. Each child uses all CPU
 * time that it gets for 50 ms. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMETS = 4, STACKS = 64, STACK = 16384, PAGES = 6000, PAGE = 4096, CHILDREN = 20 };
static const int64_t life = 50000000; /* ns */
static _Alignas(64) unsigned char stacks[COMETS][STACKS][STACK];
static const char *way;

static bool is_real_time(void)
{
    const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

static void wait_to_be_real_time(void)
{
    while (!is_real_time())
        (void)usleep(1000);
    const int name = open("/proc/self/comm", O_WRONLY);
    (void)!write(name, "escapes", sizeof "escapes" - 1);
    close(name);
}

struct comet {
    int number, stack;
    pid_t used[STACKS]; /* 0: no thread has this stack; the kernel writes it when a thread ends */
};
static struct comet comets[COMETS];

static int fly(void *argument)
{
    static cpu_set_t first = {{1}};
    struct comet *comet = argument;
    if (comet->number % 2 == 0)
        (void)sched_setaffinity(0, sizeof first, &first);
    int next = comet->stack;
    do
        next = (next + 1) % STACKS;
    while (__atomic_load_n(&comet->used[next], __ATOMIC_ACQUIRE) != 0);
    comet->stack = next;
    comet->used[next] = 1;
    (void)clone(fly, stacks[comet->number][next] + STACK,
                CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                    CLONE_CHILD_CLEARTID,
                argument, NULL, NULL, &comet->used[next]);
    return 0;
}

static void start_comets(void)
{
    wait_to_be_real_time();
    for (int i = 0; i < COMETS; i++) {
        comets[i].number = i;
        (void)fly(&comets[i]);
    }
}

static int64_t now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void fork_slowly(void)
{
    unsigned char *pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < PAGES; i += 2)
        (void)mprotect(pages + i * PAGE, PAGE, PROT_READ);
    wait_to_be_real_time();
    for (int children = 0;; children++) {
        if (children == CHILDREN && wait(NULL) > 0)
            children--;
        if (fork() == 0) {
            for (const int64_t until = now() + life; now() < until;)
                ;
            _exit(0);
        }
    }
}

static void *run(void *unused)
{
    if (strcmp(way, "comets") == 0)
        start_comets();
    else
        fork_slowly();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    way = argc > 1 ? argv[1] : "";
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        return 71;
    for (;;)
        (void)pause();
}
