#include "usage-look.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

enum { FILE_BYTES = 8192, TRIES = 3, DIGITS = 6 };

bool look_open(struct look_files *files, pid_t tid)
{
    char path[40];
    files->clock = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    files->schedstat = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/sched", (int)tid);
    files->sched = open(path, O_RDONLY | O_CLOEXEC);
    return files->schedstat >= 0;
}

void look_at_process(struct look_files *files, pid_t process)
{
    if (clock_getcpuclockid(process, &files->clock) != 0)
        files->clock = 0;
}

void look_close(struct look_files *files)
{
    if (files->schedstat >= 0)
        close(files->schedstat);
    if (files->sched >= 0)
        close(files->sched);
    files->schedstat = files->sched = -1;
}

/* Returns the text behind "KEY   :", or NULL. Keys stand at the beginnings of lines. */
static const char *value_of(const char *text, const char *key)
{
    const size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        const char *rest = line + length + strspn(line + length, " ");
        if (*rest == ':')
            return rest + 1;
    }
    return NULL;
}

static bool take_number(const char *text, const char *key, int64_t *number)
{
    const char *value = value_of(text, key);
    return value != NULL && sscanf(value, "%" SCNd64, number) == 1;
}

/* Takes "12.345678", a time in ms. */
static bool take_ran(const char *text, uint64_t *ran)
{
    uint64_t ms, ns;
    int begin = 0, end = 0;
    const char *value = value_of(text, "se.sum_exec_runtime");
    if (value == NULL ||
        sscanf(value, "%" SCNu64 ".%n%" SCNu64 "%n", &ms, &begin, &ns, &end) != 2 ||
        end - begin != DIGITS)
        return false;
    *ran = ms * 1000000 + ns;
    return true;
}

void look_parse(const char *text, struct look *look)
{
    int64_t policy = SCHED_OTHER, deadline = 0, slept = 0, left = 0;
    if (!take_ran(text, &look->ran))
        return;
    if (take_number(text, "policy", &policy))
        look->is_ordinary = policy != SCHED_FIFO && policy != SCHED_RR && policy != SCHED_DEADLINE;
    if (policy == SCHED_DEADLINE && take_number(text, "dl.runtime", &look->left) &&
        take_number(text, "dl.deadline", &deadline))
        look->deadline = (uint64_t)deadline;
    if (take_number(text, "nr_voluntary_switches", &slept))
        look->slept = (uint64_t)slept;
    if (take_number(text, "nr_switches", &left))
        look->has_left = (uint64_t)left == look->came;
    (void)take_number(text, "se.nr_migrations", &look->migrations);
}

static bool read_file(int file, char text[static FILE_BYTES])
{
    const ssize_t length = file < 0 ? -1 : pread(file, text, FILE_BYTES - 1, 0);
    text[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

/* Replaces the CPU time of the thread by the CPU time of the whole process. Sets the deadline to 0
 * (not known), because the kernel has no period for a process. */
static bool read_process(clockid_t clock, struct look *look)
{
    struct timespec used;
    look->deadline = 0;
    if (clock_gettime(clock, &used) != 0)
        return false;
    look->ran = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
    return true;
}

static bool read_once(const struct look_files *files, struct look *look)
{
    char text[FILE_BYTES];
    *look = (struct look){.at = monotonic_now(), .migrations = -1};
    if (!read_file(files->schedstat, text) || sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64,
                                                     &look->ran, &look->waited, &look->came) != 3)
        return false;
    if (read_file(files->sched, text))
        look_parse(text, look);
    return files->clock == 0 || read_process(files->clock, look);
}

/* Reads the files again if the reading took long, because this process lost its CPU. The thread
 * runs on meanwhile, so the values of such a look do not belong to one moment. */
bool look_read(const struct look_files *files, struct look *look)
{
    static const int64_t long_time = 100000;
    for (int i = 0; i < TRIES; i++) {
        if (!read_once(files, look))
            return false;
        if (monotonic_now() - look->at < long_time)
            break;
    }
    return true;
}
