#include "samples.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVERY INT64_C(1000000) /* ns between two samples; a sample costs some us */

static int open_of(pid_t tid, const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool samples_open(const struct followed *followed, size_t count, struct samples *samples)
{
    const struct itimerspec every = {{0, EVERY}, {0, EVERY}};
    samples->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    samples->threads = calloc(count, sizeof *samples->threads);
    if (samples->threads == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        samples->threads[i] = (struct sampled){.time = open_of(followed[i].tid, "schedstat"),
                                               .state = open_of(followed[i].tid, "stat"),
                                               .had = -1};
    for (size_t i = 0; i < count; i++)
        if (samples->threads[i].time < 0 || samples->threads[i].state < 0)
            return false;
    return samples->timer >= 0 && timerfd_settime(samples->timer, 0, &every, NULL) == 0;
}

static bool read_text(int file, char *text, size_t size)
{
    const ssize_t length = pread(file, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* Reads the state and the CPU of a thread from its file stat: "123 (name) S 1 ...". A name may have
 * brackets. The CPU is the 39th word. */
static bool read_state(int file, char *state, uint16_t *cpu)
{
    enum { STATE = 3, CPU = 39 };
    char text[1024];
    const char *at = read_text(file, text, sizeof text) ? strrchr(text, ')') : NULL;
    if (at == NULL || at[1] != ' ')
        return false;
    at += 2;
    *state = *at;
    for (int word = STATE; word < CPU && at != NULL; word++)
        at = strchr(at + 1, ' ');
    if (at != NULL)
        *cpu = (uint16_t)strtoul(at, NULL, 10);
    return at != NULL;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void look(struct sampled *sampled, struct followed *followed, int64_t start, take_mark *take,
                 void *argument)
{
    char text[128], state;
    int64_t had;
    if (!read_text(sampled->time, text, sizeof text) || sscanf(text, "%" SCNd64, &had) != 1 ||
        !read_state(sampled->state, &state, &followed->cpu))
        return; /* the thread has ended */
    const int64_t time = now(), apart = time - sampled->looked, more = had - sampled->had;
    if (sampled->had >= 0 && start > 0 && time > start) {
        if (more > 0) {
            followed->since = time - more > sampled->placed ? time - more : sampled->placed;
            (void)events_supply(followed, time, start, take, argument);
            sampled->placed = time;
        }
        if (sampled->looked >= start) {
            sampled->apart = apart > sampled->apart ? apart : sampled->apart;
            followed->asleep += more == 0 && (state == 'S' || state == 'D') ? apart : 0;
        }
    }
    sampled->had = had;
    sampled->looked = time;
}

void samples_take(struct samples *samples, struct followed *followed, size_t count, int64_t start,
                  take_mark *take, void *argument)
{
    uint64_t expired;
    (void)!read(samples->timer, &expired, sizeof expired);
    for (size_t i = 0; i < count; i++)
        look(&samples->threads[i], &followed[i], start, take, argument);
}

void samples_close(struct samples *samples, size_t count)
{
    for (size_t i = 0; samples->threads != NULL && i < count; i++) {
        if (samples->threads[i].time >= 0)
            close(samples->threads[i].time);
        if (samples->threads[i].state >= 0)
            close(samples->threads[i].state);
    }
    if (samples->threads != NULL && samples->timer >= 0)
        close(samples->timer);
    free(samples->threads);
    samples->threads = NULL;
}
