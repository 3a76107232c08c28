#include "thread-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

enum {
    SHORTEST_SAMPLED = 4000000, /* ns; the time of four samples */
    /* number of failures in a row to read schedstat while the thread sleeps */
    FAILURES = 8
};

/* Reads a small file of the thread in /proc. Returns its length; 0: it cannot be read. */
static size_t read_file(pid_t tid, const char *file, char *text, size_t size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

static void read_name(struct thread_watch *watch)
{
    char name[sizeof watch->name];
    if (read_file(watch->tid, "comm", name, sizeof name) == 0)
        return;
    name[strcspn(name, "\n")] = '\0';
    memcpy(watch->name, name, sizeof name);
}

/* True if the thread slept all the time from `before` to `after`. */
static bool has_slept_through(const struct bursts *bursts, int64_t before, int64_t after)
{
    return bursts->has_slept &&
           (bursts->count == 0 || bursts->list[bursts->count - 1].end < before) &&
           (!bursts->is_open || bursts->open.begin > after);
}

/* Corrects the bursts since the last call, so that their sum is the CPU time that the scheduler has
 * charged for them. */
static void charge(struct thread_watch *watch, const struct schedstat *seen)
{
    struct bursts *bursts = &watch->bursts;
    int64_t sum = 0;
    for (size_t i = watch->corrected; i < bursts->count; i++)
        sum += bursts->list[i].ran;
    if (watch->is_charged && bursts->count > watch->corrected)
        bursts_correct(bursts, watch->corrected, seen->ran - watch->charged - sum);
    watch->is_charged = true;
    watch->charged = seen->ran;
    watch->corrected = bursts->count;
    watch->failures = 0;
}

/* If the descriptor becomes readable each time the thread has got a CPU, schedstat is never read
 * while the thread sleeps. After FAILURES such reads this function stops the recording; resume()
 * starts it again, and then the descriptor becomes readable each time the thread has left its
 * CPU. */
static void change_turn(struct thread_watch *watch)
{
    if (++watch->failures < FAILURES || !watch->bursts.runs)
        return;
    switches_pause(watch->switches);
    bursts_lose(&watch->bursts);
    watch->is_charged = false;
    watch->is_paused = true;
}

void thread_watch_drain(struct thread_watch *watch)
{
    struct schedstat seen;
    if (watch->switches == NULL)
        return;
    const int64_t before = monotonic_now();
    const bool lives = schedstat_read(watch->schedstat, &seen);
    const int64_t after = monotonic_now();
    if (!switches_take(watch->switches, &watch->bursts))
        watch->is_charged = false;
    else if (lives && has_slept_through(&watch->bursts, before, after))
        charge(watch, &seen);
    else if (!watch->is_paused)
        change_turn(watch);
}

/* Starts the recording of switches again, after change_turn has stopped it. */
static void resume(struct thread_watch *watch)
{
    if (!watch->is_paused)
        return;
    watch->is_paused = false;
    watch->failures = 0;
    switches_resume(watch->switches);
}

/* Reads the state of the thread, and how often it has gone to sleep. A thread that was ready at two
 * looks, and has not gone to sleep between them, was awake all the time. */
static void read_status(struct thread_watch *watch, int64_t now)
{
    static const char key[] = "\nvoluntary_ctxt_switches:", ready[] = "\nState:\tR";
    char text[4096];
    (void)read_file(watch->tid, "status", text, sizeof text);
    const char *at = strstr(text, key);
    const uint64_t sleeps =
        at == NULL ? watch->last_sleeps : strtoull(at + sizeof key - 1, NULL, 10);
    const bool is_ready = strstr(text, ready) != NULL;
    watch->looks++;
    watch->ready_looks += is_ready;
    if (!is_ready)
        watch->awake_since = 0;
    else if (watch->awake_since == 0 || sleeps != watch->last_sleeps)
        watch->awake_since = now;
    watch->last_sleeps = sleeps;
}

/* Looks at what the thread waits for in its sleep. The file wchan names the kernel's function in
 * which the thread sleeps. "0": the thread does not sleep, or the kernel does not tell the
 * function. */
static void look_at_sleep(struct thread_watch *watch)
{
    char text[64];
    if (read_file(watch->tid, "wchan", text, sizeof text) == 0 || strcmp(text, "0") == 0)
        return;
    if (strstr(text, "nanosleep") != NULL || strstr(text, "timerfd") != NULL ||
        strstr(text, "sigtimedwait") != NULL)
        watch->timed_sleeps++;
    else
        watch->other_sleeps++;
}

bool thread_watch_open(struct thread_watch *watch, pid_t tid, enum watch_source source)
{
    *watch = (struct thread_watch){.tid = tid, .source = source};
    watch->schedstat = schedstat_open(tid);
    if (watch->schedstat < 0)
        return false;
    if (source == WATCH_SWITCHES)
        watch->switches = switches_open(tid);
    if (watch->switches == NULL)
        watch->source = WATCH_SAMPLES;
    if (!schedstat_read(watch->schedstat, &watch->first)) {
        thread_watch_close(watch);
        errno = ESRCH;
        return false;
    }
    watch->last = watch->first;
    watch->begin = watch->end = monotonic_now();
    read_name(watch);
    read_status(watch, watch->begin);
    watch->first_sleeps = watch->last_sleeps;
    return true;
}

void thread_watch_look(struct thread_watch *watch, int64_t now)
{
    thread_watch_drain(watch);
    resume(watch);
    if (watch->has_ended)
        return;
    if (!schedstat_read(watch->schedstat, &watch->last)) {
        watch->has_ended = true;
        return;
    }
    watch->end = now;
    read_name(watch);
    read_status(watch, now);
    look_at_sleep(watch);
}

void thread_watch_sample(struct thread_watch *watch, int64_t now)
{
    struct schedstat seen;
    if (watch->source == WATCH_SAMPLES && !watch->has_ended &&
        schedstat_read(watch->schedstat, &seen))
        samples_take(&watch->samples, now, &seen, &watch->bursts);
}

/* With fewer than four samples in a period, a job and the next job look like one job. */
int64_t thread_watch_shortest_period(const struct thread_watch *watch)
{
    return watch->source == WATCH_SWITCHES ? 0 : SHORTEST_SAMPLED;
}

struct observed thread_watch_observed(const struct thread_watch *watch)
{
    return (struct observed){.length = watch->end - watch->begin,
                             .ran = watch->last.ran - watch->first.ran,
                             .waited = watch->last.waited - watch->first.waited,
                             .wakeups = (size_t)(watch->last_sleeps - watch->first_sleeps),
                             .shortest_period = thread_watch_shortest_period(watch),
                             .looks = watch->looks,
                             .ready_looks = watch->ready_looks,
                             .timed_sleeps = watch->timed_sleeps,
                             .other_sleeps = watch->other_sleeps};
}

void thread_watch_forget(struct thread_watch *watch)
{
    bursts_forget(&watch->bursts, watch->bursts.count);
    watch->corrected = 0;
}

void thread_watch_close(struct thread_watch *watch)
{
    switches_close(watch->switches);
    bursts_free(&watch->bursts);
    if (watch->schedstat >= 0)
        close(watch->schedstat);
    watch->schedstat = -1;
    watch->switches = NULL;
}
