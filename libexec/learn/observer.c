#include "observer.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

enum {
    DRAINS = 120,    /* the most calls of thread_watch_drain between two looks (1200 a second) */
    SAMPLING = 1000, /* us */
    /* us between samples for each thread; a sample costs 1 us, so all samples cost some percent of
     * a CPU */
    COST_OF_SAMPLE = 80
};

static bool is_watched(const struct observer *observer, pid_t tid)
{
    for (size_t i = 0; i < observer->count; i++)
        if (observer->threads[i].tid == tid && !observer->threads[i].has_ended)
            return true;
    return false;
}

static void watch(struct observer *observer, pid_t tid)
{
    if (is_watched(observer, tid))
        return;
    if (observer->count == OBSERVER_THREADS)
        observer->overflowed = true;
    else if (thread_watch_open(&observer->threads[observer->count], tid, observer->source))
        observer->count++;
}

/* Begins to watch the threads that are new since the last scan. False with errno: the process has
 * ended. */
static bool scan(struct observer *observer)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)observer->process);
    DIR *directory = opendir(path);
    const struct dirent *entry;
    if (directory == NULL)
        return false;
    while ((entry = readdir(directory)) != NULL) {
        const long tid = strtol(entry->d_name, NULL, 10);
        if (tid > 0)
            watch(observer, (pid_t)tid);
    }
    (void)closedir(directory);
    return true;
}

bool observer_open(struct observer *observer, pid_t process, enum watch_source source)
{
    *observer = (struct observer){.process = process, .source = source};
    observer->threads = calloc(OBSERVER_THREADS, sizeof *observer->threads);
    observer->looked = monotonic_now();
    return observer->threads != NULL && scan(observer);
}

uint64_t observer_interval(const struct observer *observer)
{
    uint64_t sampled = 0;
    for (size_t i = 0; i < observer->count; i++)
        sampled += observer->threads[i].source == WATCH_SAMPLES && !observer->threads[i].has_ended;
    if (sampled == 0)
        return OBSERVER_LOOK;
    return sampled * COST_OF_SAMPLE > SAMPLING ? sampled * COST_OF_SAMPLE : SAMPLING;
}

size_t observer_descriptors(const struct observer *observer, struct pollfd *fds)
{
    size_t count = 0;
    if (observer->drains >= DRAINS)
        return 0;
    for (size_t i = 0; i < observer->count; i++)
        if (observer->threads[i].switches != NULL && !observer->threads[i].has_ended)
            fds[count++] = (struct pollfd){.fd = switches_descriptor(observer->threads[i].switches),
                                           .events = POLLIN};
    return count;
}

/* The descriptors in fds are in the order of the threads, but may be fewer. */
void observer_drain(struct observer *observer, const struct pollfd *fds, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < observer->count && at < count; i++) {
        struct thread_watch *thread = &observer->threads[i];
        if (thread->switches == NULL || switches_descriptor(thread->switches) != fds[at].fd)
            continue;
        if ((fds[at].revents & POLLIN) != 0) {
            thread_watch_drain(thread);
            observer->drains++;
        } else if (fds[at].revents != 0)
            thread->has_ended = true;
        at++;
    }
}

void observer_end(struct observer *observer, int64_t now)
{
    observer->looked = now;
    observer->drains = 0;
    for (size_t i = 0; i < observer->count; i++)
        thread_watch_look(&observer->threads[i], now);
}

void observer_take(struct observer *observer, int64_t now)
{
    for (size_t i = 0; i < observer->count; i++)
        thread_watch_sample(&observer->threads[i], now);
    if (now - observer->looked < OBSERVER_LOOK * INT64_C(1000))
        return;
    observer_end(observer, now);
    (void)scan(observer);
}

void observer_close(struct observer *observer)
{
    for (size_t i = 0; i < observer->count; i++)
        thread_watch_close(&observer->threads[i]);
    free(observer->threads);
    *observer = (struct observer){0};
}
