#include "libc.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *name;
    libc_any *found;
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

static libc_any *look_up(const char *name)
{
    libc_any *found;
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
libc_any *libc_function(const char *name)
{
    size_t i = 0;
    while (i < REPLACED && strcmp(replaced[i].name, name) != 0)
        i++;
    libc_any *const found = i < REPLACED ? replaced[i].found : NULL;
    return found != NULL ? found : look_up(name);
}

bool is_fixed(int policy)
{
    return (policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO ||
           (policy & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

pid_t id_of(pid_t thread)
{
    return thread == 0 ? gettid() : thread;
}

int policy_of(pid_t thread)
{
    return LIBC(sched_getscheduler)(thread);
}

/* Gets a thread's kernel id from the id of the thread's CPU-time clock, which contains the kernel
 * id. */
pid_t id_of_pthread(pthread_t thread)
{
    clockid_t clock;
    if (pthread_equal(thread, pthread_self()))
        return gettid();
    return pthread_getcpuclockid(thread, &clock) == 0 ? ~(clock >> 3) : 0;
}
