#include "kernel-loop.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* ns: a process that has used LOOP_AFTER of CPU time within less than this has slept for less than
 * LOOP_SLEEP */
static const int64_t longest = LOOP_AFTER * INT64_C(1000) + LOOP_SLEEP;

/* process 0: the place is free. resume_at 0: the process is not paused. */
static struct watched {
    pid_t process;
    int event;
    void *ring;
    int64_t last, resume_at;
    int policy; /* before the pause */
    struct sched_param param;
} all[LOOP_MOST];

static size_t ring_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE) * 2;
}

static void resume(struct watched *watched)
{
    if (watched->resume_at != 0)
        (void)sched_setscheduler(watched->process, watched->policy, &watched->param);
    watched->resume_at = 0;
}

void loop_forget(int number)
{
    struct watched *watched = &all[number];
    resume(watched);
    (void)munmap(watched->ring, ring_bytes());
    close(watched->event);
    *watched = (struct watched){0};
}

static struct watched *find(pid_t process)
{
    for (int i = 0; i < LOOP_MOST; i++)
        if (all[i].process == process)
            return &all[i];
    return NULL;
}

int loop_watch(pid_t process, int event, int64_t now)
{
    struct watched *place = find(process) == NULL ? find(0) : NULL;
    void *ring =
        place == NULL ? MAP_FAILED : mmap(NULL, ring_bytes(), PROT_READ, MAP_SHARED, event, 0);
    if (ring != MAP_FAILED && ioctl(event, PERF_EVENT_IOC_ENABLE, 0) == 0) {
        *place = (struct watched){.process = process, .event = event, .ring = ring, .last = now};
        return (int)(place - all);
    }
    if (ring != MAP_FAILED)
        (void)munmap(ring, ring_bytes());
    close(event);
    return -1;
}

int loop_event(int number)
{
    return all[number].event;
}

static bool pause_process(struct watched *watched, int64_t now)
{
    static const struct sched_param none;
    watched->policy = sched_getscheduler(watched->process);
    if (watched->policy < 0 || (watched->policy & ~SCHED_RESET_ON_FORK) != SCHED_FIFO ||
        sched_getparam(watched->process, &watched->param) != 0 ||
        sched_setscheduler(watched->process, SCHED_OTHER, &none) != 0)
        return false;
    watched->resume_at = now + LOOP_PAUSE;
    return true;
}

bool loop_take_event(int number, int64_t now, pid_t *process)
{
    struct watched *watched = &all[number];
    const bool is_loop = now - watched->last < longest;
    *process = watched->process;
    watched->last = now;
    return is_loop && watched->resume_at == 0 && pause_process(watched, now);
}

int64_t loop_next_due(void)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < LOOP_MOST; i++)
        if (all[i].resume_at != 0 && all[i].resume_at < first)
            first = all[i].resume_at;
    return first;
}

void loop_resume_due(int64_t now)
{
    for (int i = 0; i < LOOP_MOST; i++)
        if (all[i].resume_at != 0 && all[i].resume_at <= now)
            resume(&all[i]);
}
