#include "recording.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct name {
    UT_hash_handle hh;
    pid_t thread;
    char text[RECORD_NAME];
};

struct of_cpu {
    uint64_t dropped;
    struct record *records;
    size_t count, size;
};

struct recording {
    struct of_cpu *of;
    unsigned cpus;
    struct name *names;
    struct record *merged;
    size_t total;
};

struct recording *recording_new(unsigned cpus)
{
    struct recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL)
        return NULL;
    recording->cpus = cpus;
    recording->of = calloc(cpus + 1, sizeof *recording->of);
    if (recording->of != NULL)
        return recording;
    free(recording);
    return NULL;
}

void recording_free(struct recording *recording)
{
    struct name *name, *next;
    for (unsigned cpu = 0; cpu < recording->cpus; cpu++)
        free(recording->of[cpu].records);
    HASH_ITER (hh, recording->names, name, next) {
        HASH_DEL(recording->names, name);
        free(name);
    }
    free(recording->of);
    free(recording->merged);
    free(recording);
}

unsigned recording_cpus(const struct recording *recording)
{
    return recording->cpus;
}

bool recording_add(struct recording *recording, const struct record *record)
{
    struct of_cpu *of = &recording->of[record->cpu];
    if (recording->total == RECORDING_MOST)
        return false;
    if (of->count == of->size) {
        const size_t size = of->size == 0 ? 4096 : 2 * of->size;
        struct record *records = reallocarray(of->records, size, sizeof *records);
        if (records == NULL)
            return false;
        of->records = records;
        of->size = size;
    }
    of->records[of->count++] = *record;
    recording->total++;
    return true;
}

/* ---- names ---- */

void recording_put_name(struct recording *recording, pid_t thread,
                        const char text[static RECORD_NAME])
{
    struct name *name;
    HASH_FIND(hh, recording->names, &thread, sizeof thread, name);
    if (name == NULL) {
        name = calloc(1, sizeof *name);
        if (name == NULL)
            return;
        name->thread = thread;
        HASH_ADD(hh, recording->names, thread, sizeof thread, name);
    }
    memcpy(name->text, text, RECORD_NAME);
}

void recording_name(const struct recording *recording, pid_t thread,
                    char name[static RECORDING_NAME])
{
    struct name *found;
    HASH_FIND(hh, recording->names, &thread, sizeof thread, found);
    memset(name, 0, RECORDING_NAME);
    if (found != NULL)
        memcpy(name, found->text, RECORD_NAME);
}

void recording_each_name(const struct recording *recording,
                         void (*take)(void *context, pid_t thread, const char *name), void *context)
{
    char text[RECORDING_NAME];
    for (const struct name *name = recording->names; name != NULL; name = name->hh.next) {
        recording_name(recording, name->thread, text);
        take(context, name->thread, text);
    }
}

/* ---- events without room ---- */

uint64_t recording_dropped(const struct recording *recording, unsigned cpu)
{
    return recording->of[cpu].dropped;
}

void recording_drop(struct recording *recording, unsigned cpu, uint64_t times)
{
    recording->of[cpu].dropped += times;
}

/* ---- all records ---- */

/* Returns the CPU with the earliest record that is not taken yet, or `cpus` if none is left. */
static unsigned earliest(const struct recording *recording, const size_t *taken)
{
    unsigned best = recording->cpus;
    for (unsigned cpu = 0; cpu < recording->cpus; cpu++) {
        const struct of_cpu *of = &recording->of[cpu];
        if (taken[cpu] < of->count &&
            (best == recording->cpus ||
             of->records[taken[cpu]].time < recording->of[best].records[taken[best]].time))
            best = cpu;
    }
    return best;
}

const struct record *recording_records(struct recording *recording, size_t *count)
{
    size_t *taken = calloc(recording->cpus + 1, sizeof *taken);
    *count = 0;
    free(recording->merged);
    recording->merged = reallocarray(NULL, recording->total + 1, sizeof *recording->merged);
    if (taken == NULL || recording->merged == NULL) {
        free(taken);
        return NULL;
    }
    for (unsigned cpu; (cpu = earliest(recording, taken)) < recording->cpus;)
        recording->merged[(*count)++] = recording->of[cpu].records[taken[cpu]++];
    free(taken);
    return recording->merged;
}
