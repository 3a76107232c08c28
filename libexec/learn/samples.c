#include "samples.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ns; if the last look is longer ago, the thread may have had more than one burst since then */
enum { LATE = 3000000 };

int schedstat_open(pid_t tid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool schedstat_read(int fd, struct schedstat *now)
{
    char text[80];
    const ssize_t length = pread(fd, text, sizeof text - 1, 0);
    if (length <= 0)
        return false;
    text[length] = '\0';
    char *rest = text;
    now->ran = strtoll(rest, &rest, 10);
    now->waited = strtoll(rest, &rest, 10);
    now->arrivals = strtoll(rest, &rest, 10);
    return true;
}

/* A look may show both that the thread has got a CPU again and new CPU time. Then all new CPU time
 * counts for the new burst, because the burst before has nearly always ended before the previous
 * look. */
void samples_take(struct samples *samples, int64_t now, const struct schedstat *seen,
                  struct bursts *bursts)
{
    const bool is_late = now - samples->looked > LATE;
    if (samples->has_looked && seen->arrivals != samples->last.arrivals) {
        samples->open.is_doubtful |= is_late;
        if (samples->is_open)
            bursts_add(bursts, &samples->open);
        samples->is_open = true;
        samples->open = (struct burst){.begin = now, .end = now, .is_doubtful = is_late};
    }
    if (samples->is_open && seen->ran != samples->last.ran) {
        samples->open.ran += seen->ran - samples->last.ran;
        samples->open.end = now;
    }
    samples->has_looked = true;
    samples->looked = now;
    samples->last = *seen;
}
