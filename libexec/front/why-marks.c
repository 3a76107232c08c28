#include "why-marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "usage-marks.h"

/* JOBS_MOST: jobs beyond this number are left out, so that a program cannot fill the memory with
 * marks. */
enum { JOBS_MOST = 1 << 20, NS_PER_US = 1000 };

struct marked {
    struct marks marks;
    struct job *jobs;
    size_t count, size;
};

static struct {
    struct marked *of;
    size_t count;
    int epoll;
} why_marks = {.epoll = -1};

int64_t why_deadline(const struct traced *thread)
{
    return thread->deadline > 0 ? thread->deadline : thread->period;
}

static void take_job(void *context, int64_t release, int64_t end, int64_t deadline)
{
    struct marked *marked = context;
    if (marked->count == JOBS_MOST || end > INT64_MAX / NS_PER_US ||
        deadline > INT64_MAX / NS_PER_US)
        return;
    if (marked->count == marked->size) {
        marked->size = marked->size == 0 ? 256 : 2 * marked->size;
        marked->jobs = reallocarray(marked->jobs, marked->size, sizeof *marked->jobs);
        if (marked->jobs == NULL)
            command_fail(EX_OSERR, "no memory");
    }
    marked->jobs[marked->count++] = (struct job){.release = release * NS_PER_US,
                                                 .end = end * NS_PER_US,
                                                 .deadline = deadline * NS_PER_US};
}

static void open_one(struct marked *marked, int directory, const struct traced *thread,
                     const char *name)
{
    char printable[CLIENT_WHY];
    const char *why;
    struct epoll_event event = {.events = EPOLLIN};
    if (!marks_open(&marked->marks, directory, name, (uint64_t)(why_deadline(thread) / NS_PER_US),
                    &why)) {
        command_say("%s: cannot read the times of its jobs (marks): %s",
                    client_printable(name, printable, sizeof printable), why);
        return;
    }
    marked->marks.each = take_job;
    marked->marks.context = marked;
    (void)epoll_ctl(why_marks.epoll, EPOLL_CTL_ADD, marked->marks.fifo, &event);
}

void why_marks_open(const struct client *client, const struct chosen *chosen)
{
    const int directory = marks_directory(client->specs, client->user);
    if (directory < 0) {
        command_say("cannot read the times of jobs (marks): .jobs: %s", strerror(errno));
        return;
    }
    why_marks.of = calloc(chosen->count + 1, sizeof *why_marks.of);
    why_marks.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (why_marks.of == NULL || why_marks.epoll < 0)
        command_fail(EX_OSERR, "%s", strerror(errno));
    why_marks.count = chosen->count;
    for (size_t i = 0; i < chosen->count; i++)
        open_one(&why_marks.of[i], directory, &chosen->threads[i], chosen->labels[i].name);
}

int why_marks_descriptor(void)
{
    return why_marks.epoll;
}

void why_marks_read(void)
{
    for (size_t i = 0; i < why_marks.count; i++)
        marks_read(&why_marks.of[i].marks);
}

void why_marks_close(void)
{
    why_marks_read();
    for (size_t i = 0; i < why_marks.count; i++)
        marks_close(&why_marks.of[i].marks);
}

static int compare(const void *one, const void *two)
{
    const struct job *a = one, *b = two;
    return (a->release > b->release) - (a->release < b->release);
}

const struct job *why_marks_jobs(size_t index, size_t *count)
{
    *count = index < why_marks.count ? why_marks.of[index].count : 0;
    if (*count == 0)
        return NULL;
    struct marked *marked = &why_marks.of[index];
    qsort(marked->jobs, marked->count, sizeof *marked->jobs, compare);
    return marked->jobs;
}
