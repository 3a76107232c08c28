#include "recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "trace-events.h"

/* The pages of a CPU that are kept. */
struct kept {
    unsigned char *pages;
    size_t bytes, size;
};

struct recorder {
    struct events *events;
    struct recording *recording;
    struct kept *kept;
    bool full, keeps_pages;
};

/* ---- what the decoder finds ---- */

static void take_record(void *context, const struct record *record)
{
    struct recorder *recorder = context;
    recorder->full |= !recording_add(recorder->recording, record);
}

static void take_name(void *context, pid_t thread, const char text[static RECORD_NAME])
{
    const struct recorder *recorder = context;
    recording_put_name(recorder->recording, thread, text);
}

static void take_missed(void *context, uint16_t cpu)
{
    const struct recorder *recorder = context;
    recording_drop(recorder->recording, cpu, 1);
}

static void keep_page(void *context, unsigned cpu, void *page, size_t size)
{
    struct recorder *recorder = context;
    struct kept *kept = &recorder->kept[cpu];
    if (kept->bytes + size > kept->size) {
        const size_t more = kept->size == 0 ? 64 * size : 2 * kept->size;
        unsigned char *pages = realloc(kept->pages, more);
        recorder->full |= pages == NULL;
        if (pages == NULL)
            return;
        kept->pages = pages;
        kept->size = more;
    }
    decoder_make_plain(events_decoder(recorder->events), page);
    memcpy(kept->pages + kept->bytes, page, size);
    kept->bytes += size;
}

/* ---- preparing ---- */

static bool recorder_follow(struct recorder *recorder, const pid_t *threads, size_t count,
                            bool causes, char why[static EVENTS_WHY])
{
    if (events_follow(recorder->events, threads, count, true) && events_enable(recorder->events) &&
        events_follow_causes(recorder->events, threads, causes ? count : 0))
        return true;
    if (errno == E2BIG) {
        snprintf(why, EVENTS_WHY, "rtf why can look at %d threads at most: name fewer reservations",
                 (int)EVENTS_CAUSES);
        return false;
    }
    snprintf(why, EVENTS_WHY, "the events of the scheduler cannot be switched on: %s",
             strerror(errno));
    return false;
}

static bool recorder_hold(struct recorder *recorder)
{
    recorder->recording = recording_new(events_cpus(recorder->events));
    recorder->kept = calloc(events_cpus(recorder->events), sizeof *recorder->kept);
    return recorder->recording != NULL && recorder->kept != NULL;
}

struct recorder *recorder_open(const pid_t *threads, size_t count, bool causes,
                               char why[static EVENTS_WHY])
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    snprintf(why, EVENTS_WHY, "%s", strerror(ENOMEM));
    if (recorder == NULL)
        return NULL;
    recorder->events = events_open(-1, why);
    if (recorder->events != NULL && recorder_hold(recorder) &&
        recorder_follow(recorder, threads, count, causes, why))
        return recorder;
    recorder_close(recorder);
    return NULL;
}

void recorder_close(struct recorder *recorder)
{
    for (unsigned cpu = 0; recorder->kept != NULL && cpu < events_cpus(recorder->events); cpu++)
        free(recorder->kept[cpu].pages);
    free(recorder->kept);
    if (recorder->recording != NULL)
        recording_free(recorder->recording);
    if (recorder->events != NULL)
        events_close(recorder->events);
    free(recorder);
}

/* ---- recording ---- */

int64_t recorder_start(struct recorder *recorder)
{
    return events_begin(recorder->events);
}

bool recorder_drain(struct recorder *recorder)
{
    static const struct decoder_listener listener = {take_record, take_name, take_missed};
    events_drain(recorder->events, &listener, recorder->keeps_pages ? keep_page : NULL, recorder,
                 &recorder->full);
    return !recorder->full;
}

int64_t recorder_stop(struct recorder *recorder)
{
    const int64_t now = events_end(recorder->events);
    (void)recorder_drain(recorder);
    return now;
}

void recorder_keep_pages(struct recorder *recorder)
{
    recorder->keeps_pages = true;
}

/* ---- reading ---- */

struct recording *recorder_recording(const struct recorder *recorder)
{
    return recorder->recording;
}

const struct events *recorder_events(const struct recorder *recorder)
{
    return recorder->events;
}

const void *recorder_pages(const struct recorder *recorder, unsigned cpu, size_t *bytes)
{
    *bytes = recorder->kept[cpu].bytes;
    return recorder->kept[cpu].pages;
}
