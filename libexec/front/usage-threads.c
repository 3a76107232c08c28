#include "usage-threads.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second = UINT64_C(1000000000);

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * (int64_t)second + time.tv_nsec;
}

/* False: the thread has ended. The open file is of this thread, even if another thread has its id
 * now. */
static bool read_ran(const struct usage *usage, uint64_t *ran)
{
    char text[80];
    const ssize_t length = pread(usage->schedstat, text, sizeof text - 1, 0);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return sscanf(text, "%" SCNu64, ran) == 1;
}

/* Returns the number of migrations between CPUs; -1: not known. */
static int64_t read_migrations(pid_t tid)
{
    char path[40], text[8192];
    int64_t count;
    snprintf(path, sizeof path, "/proc/%d/sched", (int)tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length < 0 ? 0 : length] = '\0';
    const char *line = strstr(text, "\nse.nr_migrations"),
               *colon = line == NULL ? NULL : strchr(line, ':');
    return colon != NULL && sscanf(colon + 1, "%" SCNd64, &count) == 1 ? count : -1;
}

/* The thread is looked at once a period, from now on. */
static int start_timer(uint64_t period)
{
    const struct timespec each = {.tv_sec = (time_t)(period / second),
                                  .tv_nsec = (long)(period % second)};
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer >= 0)
        (void)timerfd_settime(timer, 0, &(struct itimerspec){.it_interval = each, .it_value = each},
                              NULL);
    return timer;
}

static void stop(struct usage *usage)
{
    if (usage->timer >= 0)
        close(usage->timer);
    if (usage->schedstat >= 0)
        close(usage->schedstat);
    usage->timer = usage->schedstat = -1;
}

bool usage_begin(struct usage *usage, const char *name, pid_t tid, uint64_t runtime_us,
                 uint64_t period_us)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    *usage = (struct usage){.name = strdup(name),
                            .tid = tid,
                            .runtime = runtime_us * 1000,
                            .period = period_us * 1000,
                            .timer = start_timer(period_us * 1000),
                            .schedstat = open(path, O_RDONLY | O_CLOEXEC),
                            .migrations_before = read_migrations(tid),
                            .migrations = -1};
    usage->looked = usage->began = now();
    if (usage->name != NULL && usage->timer >= 0 && usage->schedstat >= 0 &&
        read_ran(usage, &usage->ran)) {
        usage->ran_before = usage->ran;
        return true;
    }
    stop(usage);
    free(usage->name);
    return false;
}

static void add_window(struct usage *usage, uint64_t used)
{
    if (usage->count == usage->size) {
        usage->size = usage->size == 0 ? 1024 : 2 * usage->size;
        usage->windows = reallocarray(usage->windows, usage->size, sizeof *usage->windows);
        if (usage->windows == NULL)
            abort();
    }
    usage->windows[usage->count++] = used;
    usage->saturated += usage->runtime > 0 && used >= usage->runtime;
}

/* A window counts if it is as long as the period, but for a fiftieth. */
static bool is_exact(const struct usage *usage, int64_t length)
{
    const int64_t period = (int64_t)usage->period;
    return length >= period - period / 50 && length <= period + period / 50;
}

void usage_look(struct usage *usage)
{
    uint64_t ends, ran;
    if (read(usage->timer, &ends, sizeof ends) != (ssize_t)sizeof ends)
        return;
    const int64_t looked = now();
    if (!read_ran(usage, &ran)) {
        usage->has_ended = true;
        stop(usage);
        return;
    }
    if (ends == 1 && is_exact(usage, looked - usage->looked))
        add_window(usage, ran - usage->ran);
    else
        usage->lost += ends;
    usage->ran = ran;
    usage->looked = looked;
}

static int compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b ? 1 : 0;
}

bool usage_end(struct usage *usage, struct usage_figures *figures)
{
    const int64_t migrations = usage->has_ended ? -1 : read_migrations(usage->tid);
    if (migrations >= 0 && usage->migrations_before >= 0)
        usage->migrations = migrations - usage->migrations_before;
    stop(usage);
    if (usage->count == 0)
        return false;
    const double periods = (double)(usage->looked - usage->began) / (double)usage->period;
    qsort(usage->windows, usage->count, sizeof *usage->windows, compare);
    *figures = (struct usage_figures){.least = usage->windows[0],
                                      .mean = (uint64_t)((double)(usage->ran - usage->ran_before) /
                                                         periods),
                                      .of_99 = usage->windows[(usage->count - 1) * 99 / 100],
                                      .most = usage->windows[usage->count - 1]};
    return true;
}
