#include "usage-threads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "command-line.h"

static const uint64_t second = UINT64_C(1000000000);

/* Starts a timer for two looks in each period, so that a look may be late by almost half a period
 * and loses nothing. A period below 1 ms has only one look, because a look takes 30 us. */
static int start_timer(uint64_t period)
{
    static const uint64_t shortest = 1000000;
    const uint64_t every = period < shortest ? period : period / 2;
    const struct timespec each = {.tv_sec = (time_t)(every / second),
                                  .tv_nsec = (long)(every % second)};
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
    usage->timer = -1;
    look_close(&usage->files);
    marks_read(&usage->marks);
    marks_close(&usage->marks);
}

bool usage_begin(struct usage *usage, const char *name, const struct usage_grant *grant)
{
    struct look look;
    *usage = (struct usage){.name = strdup(name),
                            .grant = *grant,
                            .timer = start_timer(grant->period * 1000),
                            .marks = {.fifo = -1}};
    const bool is_open = look_open(&usage->files, grant->tid);
    if (is_open && grant->is_of_process)
        look_at_process(&usage->files, grant->tid);
    if (is_open && usage->name != NULL && usage->timer >= 0 && look_read(&usage->files, &look)) {
        periods_begin(&usage->periods, grant->runtime * 1000, grant->period * 1000,
                      grant->deadline < grant->period, &look);
        return true;
    }
    stop(usage);
    free(usage->name);
    return false;
}

void usage_begin_marks(struct usage *usage, int directory)
{
    const char *why;
    const uint64_t deadline = usage->grant.deadline;
    if (!marks_open(&usage->marks, directory, usage->name, deadline, &why))
        command_say("%s: cannot read the times of its jobs (marks): %s", usage->name, why);
}

static void take_look(struct usage *usage)
{
    struct look look;
    marks_read(&usage->marks);
    if (look_read(&usage->files, &look))
        periods_take(&usage->periods, &look);
    else {
        usage->has_ended = true;
        stop(usage);
    }
}

void usage_look(struct usage *usage)
{
    uint64_t ends;
    if (read(usage->timer, &ends, sizeof ends) == (ssize_t)sizeof ends)
        take_look(usage);
}

void usage_end(struct usage *usage)
{
    if (!usage->has_ended)
        take_look(usage);
    stop(usage);
}
