#include "metrics-counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rotated-log.h"
#include "metrics-text.h"
#include "roots-file.h"

enum { SCHEMA = 1, BUCKETS = 14 };
static const char file_name[] = "metrics", new_name[] = "metrics.new", lock_name[] = "metrics.lock";

/* The upper bounds of the histogram's buckets, us; the last bucket has no bound. */
static const struct {
    json_int_t us;
    const char *text;
} bounds[BUCKETS] = {{50, "0.00005"}, {100, "0.0001"},    {200, "0.0002"}, {500, "0.0005"},
                     {1000, "0.001"}, {2000, "0.002"},    {5000, "0.005"}, {10000, "0.01"},
                     {20000, "0.02"}, {50000, "0.05"},    {100000, "0.1"}, {200000, "0.2"},
                     {500000, "0.5"}, {INT64_MAX, "+Inf"}};

/* The keys of sums are words of rtf-events(5); `throttles` has an object for each user, with the
 * number for each name. */
static struct {
    json_t *all; /* the content of the file */
    json_t *results, *codes, *ended, *events, *throttles, *buckets;
    struct log_position position;
    int state, lock;
} sums = {.state = -1, .lock = -1};

/* ---- one line of the log ---- */

static void add(json_t *object, const char *key, json_int_t number)
{
    json_t *sum = json_object_get(object, key);
    if (sum == NULL)
        json_object_set_new(object, key, json_integer(number));
    else
        json_integer_set(sum, json_integer_value(sum) + number);
}

/* Counts the request in the one bucket of its duration. write_durations adds up the buckets,
 * because Prometheus wants each bucket to include all smaller ones. */
static void add_duration(const json_t *us)
{
    int bucket = 0;
    if (!json_is_integer(us))
        return;
    while (bucket < BUCKETS - 1 && json_integer_value(us) > bounds[bucket].us)
        bucket++;
    json_t *count = json_array_get(sums.buckets, (size_t)bucket);
    json_integer_set(count, json_integer_value(count) + 1);
    add(sums.all, "us", json_integer_value(us));
}

/* A line of an earlier version of rtf has no result. */
static void add_verdict(const json_t *line, const char *decision)
{
    const char *result = client_string(line, "result"), *code = client_string(line, "code");
    add(sums.results, result == NULL ? "unknown" : result, 1);
    if (strcmp(decision, "refused") == 0)
        add(sums.codes, code == NULL ? "unknown" : code, 1);
    add_duration(json_object_get(line, "us"));
}

static void forget(const char *user, const char *name)
{
    json_t *of_user = json_object_get(sums.throttles, user);
    (void)json_object_del(of_user, name);
    if (of_user != NULL && json_object_size(of_user) == 0)
        (void)json_object_del(sums.throttles, user);
}

static void add_throttles(const char *user, const char *name, json_int_t times)
{
    json_t *of_user = json_object_get(sums.throttles, user);
    if (of_user == NULL) {
        of_user = json_object();
        json_object_set_new(sums.throttles, user, of_user);
    }
    add(of_user, name, times);
}

static void count(const json_t *line)
{
    char event[64];
    const char *stage = client_string(line, "stage"), *decision = client_string(line, "decision"),
               *user = client_string(line, "user"), *name = client_string(line, "name"),
               *ended = client_string(line, "ended");
    const json_int_t times = json_integer_value(json_object_get(line, "times"));
    if (stage == NULL || decision == NULL)
        return;
    snprintf(event, sizeof event, "%s %s", stage, decision);
    add(sums.events, event, 1);
    add(sums.all, "left_out", json_integer_value(json_object_get(line, "left_out")));
    if (strcmp(stage, "verdict") == 0 && strcmp(decision, "error") != 0)
        add_verdict(line, decision);
    if (user != NULL && name != NULL && times > 0)
        add_throttles(user, name, times);
    if (strcmp(stage, "release") != 0)
        return;
    add(sums.ended, ended == NULL ? "unknown" : ended, 1);
    if (user != NULL && name != NULL)
        forget(user, name);
}

/* ---- the file with the sums ---- */

/* Returns the object at this key. Makes the object if it is missing. */
static json_t *part(const char *key)
{
    json_t *object = json_object_get(sums.all, key);
    if (json_is_object(object))
        return object;
    object = json_object();
    json_object_set_new(sums.all, key, object);
    return object;
}

/* Returns the histogram. It begins again at 0 if the file is from a version of rtf with other
 * bounds. */
static json_t *buckets(void)
{
    json_t *list = json_object_get(sums.all, "buckets");
    if (json_array_size(list) == BUCKETS)
        return list;
    list = json_array();
    for (int i = 0; i < BUCKETS; i++)
        json_array_append_new(list, json_integer(0));
    json_object_set_new(sums.all, "buckets", list);
    json_object_set_new(sums.all, "us", json_integer(0));
    return list;
}

static void load(void)
{
    const int file = openat(sums.state, file_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    sums.all = file < 0 ? NULL : json_loadfd(file, 0, NULL);
    if (file >= 0)
        close(file);
    if (json_integer_value(json_object_get(sums.all, "schema")) != SCHEMA) {
        json_decref(sums.all);
        sums.all = json_pack("{s:i}", "schema", SCHEMA);
    }
    sums.results = part("results");
    sums.codes = part("codes");
    sums.ended = part("ended");
    sums.events = part("events");
    sums.throttles = part("throttles");
    sums.buckets = buckets();
    const char *first = client_string(sums.all, "first");
    snprintf(sums.position.first, sizeof sums.position.first, "%s", first == NULL ? "" : first);
    sums.position.counted = json_integer_value(json_object_get(sums.all, "counted"));
}

/* Writes the sums into their file. False: errno says why. */
static bool save(void)
{
    json_object_set_new(sums.all, "first", json_string(sums.position.first));
    json_object_set_new(sums.all, "counted", json_integer(sums.position.counted));
    (void)unlinkat(sums.state, new_name, 0); /* a run that was killed may have left this file */
    const int file =
        openat(sums.state, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    const bool is_written = json_dumpfd(sums.all, file, JSON_COMPACT) == 0;
    return close(file) == 0 && is_written &&
           renameat(sums.state, new_name, sums.state, file_name) == 0;
}

/* Opens state/, which must belong to root, and waits until no other run has it locked. False: errno
 * says why. */
static bool open_state(int root)
{
    struct stat status;
    sums.state = openat(root, "state", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (sums.state < 0 || fstat(sums.state, &status) != 0)
        return false;
    if (!only_root_writes(&status)) {
        errno = EPERM;
        return false;
    }
    sums.lock = openat(sums.state, lock_name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return sums.lock >= 0 && flock(sums.lock, LOCK_EX) == 0;
}

bool counters_begin(int root, char why[static CLIENT_WHY])
{
    why[0] = '\0';
    if (!open_state(root)) {
        snprintf(why, CLIENT_WHY, "state/%s in the spool: %s; the counters are left out", file_name,
                 strerror(errno));
        return false;
    }
    load();
    rotated_log_read(root, &sums.position, count, why);
    if (!save())
        snprintf(why, CLIENT_WHY, "state/%s in the spool cannot be written: %s", file_name,
                 strerror(errno));
    return true;
}

void counters_end(void)
{
    if (sums.lock >= 0)
        close(sums.lock);
    if (sums.state >= 0)
        close(sums.state);
    sums.lock = sums.state = -1;
}

/* ---- the metrics ---- */

static const struct metric
    requests = {"rtf_requests", METRIC_COUNTER,
                "Verdicts, by their result. A spec that waits has several."},
    refusals = {"rtf_refusals", METRIC_COUNTER, "Refused requests, by the code of the refusal."},
    durations = {"rtf_request_duration_seconds", METRIC_HISTOGRAM,
                 "Time from the beginning of a request to its verdict."},
    releases = {"rtf_releases", METRIC_COUNTER, "Reservations that ended, by the reason."},
    log_events = {"rtf_events", METRIC_COUNTER, "Lines of the log, by stage and decision."},
    left_out = {"rtf_events_left_out", METRIC_COUNTER,
                "Lines that the log left out, because a user caused too many."};

static void write_one(const char *name, const char *key, json_int_t number)
{
    char value[METRIC_VALUE];
    char *labels = metrics_labels((struct label[]){{name, key}, {0}});
    metrics_sample(labels, metrics_number((uint64_t)number, value));
    free(labels);
}

static void write_sums(const struct metric *metric, const char *label, json_t *object)
{
    const char *key;
    json_t *number;
    metrics_family(metric);
    json_object_foreach(object, key, number) write_one(label, key, json_integer_value(number));
}

/* Writes how many verdicts have each result. A result without verdicts has a sample of 0, so that
 * Prometheus sees its first increase. */
static void write_requests(void)
{
    static const char *const results[] = {"OK",       "SCHEDULE_FAIL", "ACL_FAIL",
                                          "BAD_SPEC", "ATTACH_FAIL",   "WAITING"};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        add(sums.results, results[i], 0);
    write_sums(&requests, "result", sums.results);
}

static void write_events(void)
{
    const char *key;
    json_t *number;
    char value[METRIC_VALUE], stage[64];
    metrics_family(&log_events);
    json_object_foreach(sums.events, key, number)
    {
        snprintf(stage, sizeof stage, "%.*s", (int)strcspn(key, " "), key);
        const char *blank = strchr(key, ' ');
        char *labels = metrics_labels(
            (struct label[]){{"stage", stage}, {"decision", blank == NULL ? "" : blank + 1}, {0}});
        metrics_sample(labels, metrics_number((uint64_t)json_integer_value(number), value));
        free(labels);
    }
}

static void write_durations(void)
{
    char value[METRIC_VALUE];
    json_int_t all = 0;
    metrics_family(&durations);
    for (int i = 0; i < BUCKETS; i++) {
        char *labels = metrics_labels((struct label[]){{"le", bounds[i].text}, {0}});
        all += json_integer_value(json_array_get(sums.buckets, (size_t)i));
        metrics_part("_bucket", labels, metrics_number((uint64_t)all, value));
        free(labels);
    }
    const json_int_t us = json_integer_value(json_object_get(sums.all, "us"));
    metrics_part("_sum", "", metrics_microseconds((uint64_t)us, value));
    metrics_part("_count", "", metrics_number((uint64_t)all, value));
}

void counters_write(void)
{
    char value[METRIC_VALUE];
    const json_int_t lines = json_integer_value(json_object_get(sums.all, "left_out"));
    write_requests();
    write_sums(&refusals, "code", sums.codes);
    write_durations();
    write_sums(&releases, "reason", sums.ended);
    write_events();
    metrics_family(&left_out);
    metrics_sample("", metrics_number((uint64_t)lines, value));
}

json_int_t counters_throttles(const char *user, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(sums.throttles, user), name));
}
