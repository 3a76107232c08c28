#include "experiment-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment-phases.h"
#include "experiment-threads.h"
#include "experiment-values.h"

#define SECOND INT64_C(1000000000)

static bool take_default_policy(struct reading *reading, const json_t *value, void *into)
{
    return reading_policy(reading, value, &((struct experiment *)into)->default_policy);
}
static bool take_experiment_duration(struct reading *reading, const json_t *value, void *into)
{
    return reading_seconds(reading, value, &((struct experiment *)into)->duration);
}
static bool take_horizon(struct reading *reading, const json_t *value, void *into)
{
    return reading_seconds(reading, value, &((struct experiment *)into)->horizon);
}
static bool take_processors(struct reading *reading, const json_t *value, void *into)
{
    return reading_integer(reading, value, 1, CPU_SETSIZE,
                           &((struct experiment *)into)->processors);
}
static const struct key global_module_keys[] = {{"supply", experiment_supply, false}, {0}};

static bool take_global_analysis(struct reading *reading, const json_t *value, void *into)
{
    unsigned modules = 0;
    if (!reading_object(reading, value, global_module_keys, &modules))
        return false;
    ((struct experiment *)into)->global_analysed = modules != 0;
    return true;
}

static const struct key global_keys[] = {{"default_policy", take_default_policy, false},
                                         {"duration", take_experiment_duration, false},
                                         {"horizon", take_horizon, false},
                                         {"processors", take_processors, false},
                                         {"analysis", take_global_analysis, false},
                                         {"comment", reading_ignore, false},
                                         {"logdir", reading_ignore, true},
                                         {"logbasename", reading_ignore, true},
                                         {"lock_pages", reading_ignore, true},
                                         {"ftrace", reading_ignore, true},
                                         {0}};

static bool take_global(struct reading *reading, const json_t *value, void *into)
{
    return reading_object(reading, value, global_keys, into);
}
static bool take_resources(struct reading *reading, const json_t *value, void *into)
{
    return reading_integer(reading, value, 0, RESOURCES_MAX,
                           &((struct experiment *)into)->resources);
}
/* Reads the key "shared". In paper 004 its value is a number of bytes. In the paper's own tool
 * (--compat) it is a number of doubles. */
static bool take_shared(struct reading *reading, const json_t *value, void *into)
{
    int64_t *bytes = &((struct experiment *)into)->shared_bytes;
    const int64_t unit = reading->experiment->compat ? (int64_t)sizeof(double) : 1;
    if (!reading_integer(reading, value, 0, (int64_t)DOUBLES_MAX * (int64_t)sizeof(double) / unit,
                         bytes))
        return false;
    *bytes *= unit;
    return true;
}

static bool refuse_sweep(struct reading *reading, const json_t *value, void *into)
{
    (void)value, (void)into;
    return reading_fault(reading, "describes several experiments: run them with rtf muse sweep");
}

static const struct key top_keys[] = {{"global", take_global, false},
                                      {"resources", take_resources, false},
                                      {"shared", take_shared, false},
                                      {"threads", reading_ignore, false},
                                      {"comment", reading_ignore, false},
                                      {"sweep", refuse_sweep, false},
                                      {0}};

static json_t *load(struct reading *reading)
{
    json_error_t error;
    json_t *json = json_loadb(reading->text, reading->length, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        reading_fault(reading, "is not one JSON object: line %d, column %d: %.120s", error.line,
                      error.column, error.text);
    else if (!json_is_object(json)) {
        reading_fault(reading, "must be one JSON object with \"global\" and \"threads\"");
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* Reads the key "threads" last, because the other keys, which come in any order, say what threads
 * may use. */
bool experiment_parse(const char *text, size_t length, enum reader reader, bool compat,
                      struct experiment *experiment, char why[static EXPERIMENT_WHY])
{
    struct reading reading = {.text = text, .length = length, .why = why, .experiment = experiment};
    *experiment = (struct experiment){.compat = compat, .reader = reader, .duration = SECOND};
    if (length > EXPERIMENT_BYTES_MAX)
        return reading_fault(&reading, "is longer than %d bytes", EXPERIMENT_BYTES_MAX);
    experiment->json = load(&reading);
    if (experiment->json == NULL ||
        !reading_object(&reading, experiment->json, top_keys, experiment))
        return false;
    const json_t *threads = json_object_get(experiment->json, "threads");
    if (threads == NULL)
        return reading_fault(&reading, "lacks the key \"threads\"");
    reading.path[reading.depth++] = "threads";
    if (experiment->horizon == 0)
        experiment->horizon = experiment->duration / 10;
    return experiment_threads(&reading, threads);
}

static char *read_text(const char *path, size_t *length, char *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : malloc(EXPERIMENT_BYTES_MAX + 2);
    ssize_t got = 1;
    *length = 0;
    while (text != NULL && got > 0 && *length <= EXPERIMENT_BYTES_MAX) {
        got = read(fd, text + *length, EXPERIMENT_BYTES_MAX + 1 - *length);
        if (got < 0)
            break;
        *length += (size_t)got;
    }
    if (text == NULL || got < 0) {
        snprintf(why, EXPERIMENT_WHY, "cannot be read: %s", strerror(errno));
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

bool experiment_read(const char *path, enum reader reader, bool compat,
                     struct experiment *experiment, char why[static EXPERIMENT_WHY])
{
    size_t length;
    *experiment = (struct experiment){0};
    char *text = read_text(path, &length, why);
    bool good = text != NULL && experiment_parse(text, length, reader, compat, experiment, why);
    free(text);
    return good;
}

void experiment_free(struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->thread_count; i++)
        free(experiment->threads[i].phases);
    free(experiment->threads);
    json_decref(experiment->json);
    *experiment = (struct experiment){0};
}
