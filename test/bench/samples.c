#include "samples.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

struct samples *samples_shared(size_t how_many)
{
    struct samples *samples = mmap(NULL, how_many * sizeof *samples, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (samples == MAP_FAILED)
        err(EX_OSERR, "memory");
    return samples;
}

void samples_free(struct samples *samples, size_t how_many)
{
    (void)munmap(samples, how_many * sizeof *samples);
}

void samples_add(struct samples *samples, int64_t ns)
{
    if (samples->count < SAMPLES_MAX)
        samples->ns[samples->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int compare(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

static double median(const uint32_t *ns, size_t count, uint32_t *room)
{
    memcpy(room, ns, count * sizeof *ns);
    qsort(room, count, sizeof *room, compare);
    const uint32_t middle = room[count / 2];
    return middle / 1000.0;
}

struct summary samples_summary(const struct samples *samples)
{
    enum { PARTS = 10 };
    static uint32_t sorted[SAMPLES_MAX];
    struct summary summary = {.count = samples->count, .failed = samples->failed};
    double least = 0, most = 0;
    size_t count = samples->count, part = count / PARTS;
    if (count == 0)
        return summary;
    for (size_t i = 0; part > 0 && i < PARTS; i++) {
        double one = median(samples->ns + i * part, part, sorted);
        least = i == 0 || one < least ? one : least;
        most = one > most ? one : most;
    }
    summary.p50 = median(samples->ns, count, sorted);
    const size_t nine_tenths = count * 90 / 100, all_but_one = count * 99 / 100;
    summary.p90 = sorted[nine_tenths] / 1000.0;
    summary.p99 = sorted[all_but_one] / 1000.0;
    summary.max = sorted[count - 1] / 1000.0;
    summary.spread = (most - least) / summary.p50 * 100;
    return summary;
}

void progress(const char *format, ...)
{
    va_list list;
    if (!isatty(STDERR_FILENO))
        return;
    va_start(list, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, list);
    va_end(list);
}
