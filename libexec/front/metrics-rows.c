#include "metrics-rows.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics-counters.h"
#include "metrics-text.h"
#include "own-specs.h"
#include "read-journal.h"
#include "states.h"
#include "units.h"

struct row {
    char *user, *name, *labels;
    json_t *verdict;
    const json_t *grant; /* the grant in the verdict; NULL: nothing is granted */
    enum state state;
    bool has_use; /* the kernel has reported the next two values */
    uint64_t ran, waited;
};

static struct {
    struct row *list;
    size_t count, size;
    size_t states[STATES];
    bool is_all; /* the rows are of all users, from the journal */
    bool served, counted;
    const json_t *plugins;
} rows;

/* ---- where reservations are read ---- */

static void *checked(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void add_row(const char *user, const char *name, json_t *verdict, bool is_current)
{
    if (rows.count == rows.size) {
        rows.size = rows.size == 0 ? 256 : 2 * rows.size;
        rows.list = checked(realloc(rows.list, rows.size * sizeof *rows.list));
    }
    const json_t *grant = json_object_get(verdict, "grant");
    struct row *row = &rows.list[rows.count++];
    *row = (struct row){.user = checked(strdup(user)),
                        .name = checked(strdup(name)),
                        .labels = metrics_labels(
                            (struct label[]){{"user", user}, {"reservation", name}, {0}}),
                        .verdict = verdict,
                        .grant = json_is_object(grant) ? grant : NULL,
                        .state = state_of(verdict, is_current)};
    rows.states[row->state]++;
}

static void is_booked(const char *user, const char *name, json_t *verdict)
{
    add_row(user, name, verdict, true);
}

static void is_gone(const char *user, const char *name)
{
    (void)user;
    (void)name;
}

bool metric_rows_read_all(int root)
{
    static const struct journal_listener listener = {is_booked, is_gone};
    rows.is_all = true;
    return journal_read(root, &listener);
}

static bool is_wanted(const char *name)
{
    (void)name;
    return true;
}

static void take_own(const char *user, const struct own_spec *spec)
{
    add_row(user, spec->name, spec->verdict, spec->is_current);
}

void metric_rows_read_own(const struct client *client)
{
    static const struct own_specs_listener listener = {is_wanted, take_own};
    (void)own_specs_read(client->specs, client->user, &listener);
}

/* ---- what a reservation has ---- */

/* Returns 0 for a negative number. The broker writes no negative numbers, but the owner of a
 * verdict can change it. */
static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value < 0 ? 0 : (uint64_t)value;
}

static const char *time_of(const struct row *row, const char *key, char text[static METRIC_VALUE])
{
    const uint64_t time = number(row->grant, key);
    return time == 0 ? NULL : metrics_microseconds(time, text);
}

static const char *runtime(const struct row *row, char text[static METRIC_VALUE])
{
    return time_of(row, "accepted_runtime", text);
}

static const char *period(const struct row *row, char text[static METRIC_VALUE])
{
    return time_of(row, "period", text);
}

static const char *deadline(const struct row *row, char text[static METRIC_VALUE])
{
    return time_of(row, "deadline", text);
}

static const char *share(const struct row *row, char text[static METRIC_VALUE])
{
    const uint64_t share = number(row->grant, "utilization");
    _Static_assert((int)METRIC_VALUE >= (int)UTILIZATION_TEXT, "a share has room");
    return share == 0 ? NULL : format_utilization(share, text);
}

static const char *priority(const struct row *row, char text[static METRIC_VALUE])
{
    const uint64_t priority = number(row->grant, "priority");
    return priority == 0 ? NULL : metrics_number(priority, text);
}

static const char *attached(const struct row *row, char text[static METRIC_VALUE])
{
    (void)text;
    return row->grant == NULL ? NULL : row->state >= PENDING ? "1" : "0";
}

static const char *drifted(const struct row *row, char text[static METRIC_VALUE])
{
    (void)text;
    return row->state < ATTACHED ? NULL : row->state == DRIFTED ? "1" : "0";
}

static const char *ran(const struct row *row, char text[static METRIC_VALUE])
{
    return row->has_use ? metrics_nanoseconds(row->ran, text) : NULL;
}

static const char *waited(const struct row *row, char text[static METRIC_VALUE])
{
    return row->has_use ? metrics_nanoseconds(row->waited, text) : NULL;
}

/* True if rtf-guard makes a thread of the row's plugin ordinary when the thread has used up its
 * runtime. Then the log tells how often this has happened. */
static bool is_guarded(const struct row *row)
{
    size_t i;
    const json_t *plugin;
    const char *holder = client_string(row->grant, "plugin");
    json_array_foreach(rows.plugins, i, plugin)
    {
        const char *name = client_string(plugin, "name"),
                   *enforce = client_string(plugin, "enforce");
        if (holder != NULL && name != NULL && strcmp(name, holder) == 0)
            return enforce != NULL && strcmp(enforce, "runtime") == 0;
    }
    return false;
}

static const char *throttles(const struct row *row, char text[static METRIC_VALUE])
{
    if (!rows.counted || row->grant == NULL)
        return NULL;
    const json_int_t times = counters_throttles(row->user, row->name);
    return times > 0 || is_guarded(row) ? metrics_number((uint64_t)times, text) : NULL;
}

/* Reads how long the thread ran, and how long it was ready and had to wait. If no broker serves,
 * another thread may have the id by now. Then the thread counts as the attached one only if it runs
 * as granted. */
static void look_at_thread(struct row *row)
{
    char path[40], text[80];
    const uint64_t tid = number(json_object_get(row->verdict, "thread"), "tid");
    if (row->state != ATTACHED && !(row->state == DRIFTED && rows.served))
        return;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/schedstat", tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length < 0 ? 0 : length] = '\0';
    row->has_use = sscanf(text, "%" SCNu64 " %" SCNu64, &row->ran, &row->waited) == 2;
}

/* ---- the metrics ---- */

static const struct {
    struct metric metric;
    const char *(*value)(const struct row *row, char text[static METRIC_VALUE]);
} of_rows[] = {
    {{"rtf_reservation_runtime_seconds", METRIC_GAUGE, "CPU time that is reserved in each period."},
     runtime},
    {{"rtf_reservation_period_seconds", METRIC_GAUGE, "Period of the reservation."}, period},
    {{"rtf_reservation_deadline_seconds", METRIC_GAUGE,
      "Time after each activation within which the thread gets its runtime."},
     deadline},
    {{"rtf_reservation_utilization_ratio", METRIC_GAUGE, "Reserved part of a CPU."}, share},
    {{"rtf_reservation_priority", METRIC_GAUGE, "Priority under SCHED_FIFO or SCHED_RR."},
     priority},
    {{"rtf_reservation_attached", METRIC_GAUGE, "1 if the reservation has a thread, else 0."},
     attached},
    {{"rtf_reservation_drifted", METRIC_GAUGE,
      "1 if the attached thread does not run as granted, else 0."},
     drifted},
    {{"rtf_reservation_cpu_seconds", METRIC_COUNTER,
      "CPU time that the attached thread has used since it began."},
     ran},
    {{"rtf_reservation_wait_seconds", METRIC_COUNTER,
      "Time that the attached thread was ready to run and had to wait, since it began."},
     waited},
    {{"rtf_reservation_throttles", METRIC_COUNTER,
      "How often the thread lost its policy until its next period, because its runtime was used up."},
     throttles},
};

static void write_facts(void)
{
    static const struct metric facts = {"rtf_reservation", METRIC_FACT,
                                        "The plugin, the policy and the CPUs of the reservation."};
    metrics_family(&facts);
    for (size_t i = 0; i < rows.count; i++) {
        const struct row *row = &rows.list[i];
        if (row->grant == NULL)
            continue;
        char *labels =
            metrics_labels((struct label[]){{"user", row->user},
                                            {"reservation", row->name},
                                            {"plugin", client_string(row->grant, "plugin")},
                                            {"policy", client_string(row->grant, "policy")},
                                            {"cpus", client_string(row->grant, "cpus")},
                                            {0}});
        metrics_sample(labels, "1");
        free(labels);
    }
}

/* Root's rows come from the journal. The journal has only specs that have a reservation or wait for
 * one, so the other states are left out for root. */
void metric_rows_write_states(void)
{
    static const struct metric specs = {"rtf_specs", METRIC_GAUGE, "Specs, by their state."};
    char value[METRIC_VALUE];
    metrics_family(&specs);
    for (enum state state = ASKED; state < STATES; state++) {
        if (rows.is_all && (state == ASKED || state == REFUSED || state == DRY_RUN))
            continue;
        char *labels = metrics_labels((struct label[]){{"state", state_name(state)}, {0}});
        metrics_sample(labels, metrics_number(rows.states[state], value));
        free(labels);
    }
}

void metric_rows_write(const json_t *status, bool served, bool counted)
{
    char text[METRIC_VALUE];
    rows.plugins = json_object_get(status, "plugins");
    rows.served = served;
    rows.counted = counted;
    write_facts();
    for (size_t i = 0; i < rows.count; i++)
        look_at_thread(&rows.list[i]);
    for (size_t metric = 0; metric < sizeof of_rows / sizeof *of_rows; metric++) {
        metrics_family(&of_rows[metric].metric);
        for (size_t i = 0; i < rows.count; i++)
            metrics_sample(rows.list[i].labels, of_rows[metric].value(&rows.list[i], text));
    }
}
