/* rtf-metrics(1): prints metrics of the broker and its reservations for Prometheus, or writes them
 * to a file for node_exporter. It is not a daemon: each run prints the metrics once. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "open-spool.h"
#include "command-line.h"
#include "metrics-counters.h"
#include "metrics-rows.h"
#include "metrics-text.h"
#include "serving.h"
#include "textfile.h"
#include "units.h"

static struct {
    bool openmetrics, no_reservations;
    const char *textfile; /* NULL: standard output */
    const char *group;    /* NULL: the group of the directory */
} options;

static const struct command_option option_table[] = {
    {0, "openmetrics", NULL, "Print OpenMetrics instead of Prometheus text"},
    {0, "textfile", "DIR", "Write DIR/rtf.prom for node_exporter, and print nothing"},
    {0, "group", "GROUP", "The group that may read the file of --textfile"},
    {0, "no-reservations", NULL, "Leave out the metrics of each single reservation"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "openmetrics") == 0)
        options.openmetrics = true;
    else if (strcmp(name, "textfile") == 0)
        options.textfile = value;
    else if (strcmp(name, "group") == 0)
        options.group = value;
    else
        options.no_reservations = true;
}

/* ---- metrics of status.json ---- */

/* Writes one sample without labels. */
static void write_gauge(const char *name, const char *help, const char *value)
{
    const struct metric metric = {name, METRIC_GAUGE, help};
    metrics_family(&metric);
    metrics_sample("", value);
}

static void write_count(const char *name, const char *help, const json_t *status, const char *key)
{
    char text[METRIC_VALUE];
    const json_t *count = json_object_get(status, key);
    const bool is_known = json_is_integer(count) && json_integer_value(count) >= 0;
    write_gauge(name, help,
                is_known ? metrics_number((uint64_t)json_integer_value(count), text) : NULL);
}

/* Returns a time of status.json as seconds since 1970; NULL: this is no such time. */
static const char *seconds_since_1970(const char *time, char text[static METRIC_VALUE])
{
    struct tm parts = {0};
    const char *rest = time == NULL ? NULL : strptime(time, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == NULL)
        return NULL;
    snprintf(text, METRIC_VALUE, "%lld%.*s", (long long)timegm(&parts),
             rest[0] == '.' ? 1 + (int)strspn(rest + 1, "0123456789") : 0, rest);
    return metrics_decimal(text);
}

static void write_broker(const json_t *status)
{
    static const struct metric broker = {"rtf_broker", METRIC_FACT,
                                         "The version of the broker that served last."};
    char text[METRIC_VALUE];
    const char *version = client_string(status, "version");
    char *labels = metrics_labels((struct label[]){{"version", version}, {0}});
    metrics_family(&broker);
    metrics_sample(labels, version == NULL ? NULL : "1");
    free(labels);
    write_gauge("rtf_broker_start_time_seconds",
                "Time at which the broker began to serve, since 1970.",
                seconds_since_1970(client_string(status, "since"), text));
    write_count("rtf_reservations", "Reservations of all users.", status, "reservations");
    write_count("rtf_attached_threads", "Reservations of all users that have a thread.", status,
                "attached");
}

/* A plugin ends with its broker, even if the broker could not write this into status.json. */
static void write_plugins(const json_t *status, bool served)
{
    static const struct metric up = {"rtf_plugin_up", METRIC_GAUGE,
                                     "1 if the plugin answers requests, else 0."};
    size_t i;
    const json_t *plugin;
    metrics_family(&up);
    json_array_foreach(json_object_get(status, "plugins"), i, plugin)
    {
        const char *state = client_string(plugin, "state");
        char *labels =
            metrics_labels((struct label[]){{"plugin", client_string(plugin, "name")},
                                            {"resource", client_string(plugin, "resource")},
                                            {0}});
        metrics_sample(labels, state == NULL                             ? NULL
                               : served && strcmp(state, "serving") == 0 ? "1"
                                                                         : "0");
        free(labels);
    }
}

/* Returns the name of a pool's resource: the unit of the pool, or "cpu" if the pool has CPU
 * time. */
static const char *resource_of(const json_t *pool)
{
    const char *unit = client_string(pool, "unit");
    return unit == NULL || strcmp(unit, "CPU") == 0 ? "cpu" : unit;
}

static void write_pools(const json_t *status, const struct metric *metric, const char *key)
{
    size_t i;
    const json_t *pool;
    metrics_family(metric);
    json_array_foreach(json_object_get(status, "pools"), i, pool)
    {
        char *labels = metrics_labels((struct label[]){{"pool", client_string(pool, "name")},
                                                       {"resource", resource_of(pool)},
                                                       {"plugin", client_string(pool, "plugin")},
                                                       {"cpus", client_string(pool, "cpus")},
                                                       {0}});
        metrics_sample(labels, metrics_decimal(client_string(pool, key)));
        free(labels);
    }
}

/* ---- the whole output ---- */

static void write_all(const json_t *status, bool served, bool counted)
{
    static const struct metric
        capacity = {"rtf_pool_capacity", METRIC_GAUGE,
                    "Capacity of a pool: CPUs; bytes a second of a network; time of a disk."},
        reserved = {"rtf_pool_reserved", METRIC_GAUGE, "How much of the pool is reserved."};
    write_gauge("rtf_up", "1 if a broker serves the spool, else 0.", served ? "1" : "0");
    write_broker(status);
    write_plugins(status, served);
    write_pools(status, &capacity, "capacity");
    write_pools(status, &reserved, "used");
    if (counted)
        counters_write();
    if (options.no_reservations)
        return;
    metric_rows_write_states();
    metric_rows_write(status, served, counted);
}

static json_t *read_status(struct client *client)
{
    errno = 0;
    json_t *status = client_read_object(client->root, "status.json");
    if (status == NULL && errno == EACCES)
        command_fail(client_status_of_outcome(client_denied(client, "status.json")), "%s",
                     client->why);
    return status;
}

static void read_reservations(struct client *client)
{
    if (options.no_reservations)
        return;
    if (geteuid() == 0) {
        if (!metric_rows_read_all(client->root))
            command_fail(EX_NOPERM, "%s/state/current does not belong to root, or cannot be read",
                         client->spool);
        return;
    }
    const enum client_outcome outcome = client_enter(client, false);
    if (outcome == CLIENT_OK)
        metric_rows_read_own(client);
    else if (outcome != CLIENT_GONE)
        command_fail(client_status_of_outcome(outcome), "%s", client->why);
}

/* Makes the text from status.json, the reservations and, if `counted`, the sums over the log. The
 * caller frees the text. */
static char *make_text(struct client *client, bool counted, size_t *length)
{
    char *text = NULL;
    json_t *status = read_status(client);
    const bool served = serving(client->root) == SERVED;
    read_reservations(client);
    FILE *stream = open_memstream(&text, length);
    if (stream == NULL)
        command_fail(EX_OSERR, "%s", strerror(errno));
    metrics_begin(stream, options.openmetrics);
    write_all(status, served, counted);
    metrics_end();
    if (fclose(stream) != 0)
        command_fail(EX_OSERR, "%s", strerror(ENOMEM));
    json_decref(status);
    return text;
}

static gid_t group_named(const char *name)
{
    uint64_t number;
    const struct group *group = getgrnam(name);
    if (group != NULL)
        return group->gr_gid;
    if (!parse_number(name, UINT32_MAX - 1, &number))
        command_fail(EX_NOUSER, "--group %s: there is no such group", command_typed(name));
    return (gid_t)number;
}

/* Returns the group that may read the file. Not every user may know the reservations of other
 * users. */
static gid_t readers(void)
{
    if (options.group != NULL)
        return group_named(options.group);
    if (geteuid() != 0 || options.no_reservations)
        return TEXTFILE_EVERYBODY;
    const gid_t group = textfile_group_of(options.textfile);
    if (group == TEXTFILE_EVERYBODY)
        command_fail(EX_CANTCREAT, "%s: %s", command_typed(options.textfile), strerror(errno));
    if (group == 0)
        command_say("only root can read the file: --group names the group of node_exporter");
    return group;
}

static void put_textfile(const char *text, size_t length)
{
    if (!textfile_write(options.textfile, text, length, readers()))
        command_fail(EX_CANTCREAT, "%s: %s", command_typed(options.textfile), strerror(errno));
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "metrics",
        .about = "Print metrics of the broker and its reservations for Prometheus.",
        .operands = "[OPTION...]",
        .options = option_table,
        .take = take};
    struct client client;
    char why[CLIENT_WHY] = "";
    size_t length;
    command_end_of_line(command_parse(&command, argc, argv, NULL));
    if (options.textfile == NULL && options.group != NULL)
        command_misused("--group needs --textfile");
    if (options.textfile != NULL && options.openmetrics)
        command_misused("node_exporter reads no OpenMetrics: leave out --openmetrics");
    open_spool(&client);
    const bool counted = geteuid() == 0 && counters_begin(client.root, why);
    if (why[0] != '\0')
        command_say("%s", why);
    char *text = make_text(&client, counted, &length);
    if (options.textfile != NULL)
        put_textfile(text, length);
    counters_end();
    if (options.textfile == NULL && fwrite(text, 1, length, stdout) != length)
        command_unwritten();
    if (!command_is_written())
        command_unwritten();
    free(text);
    client_close(&client);
    return EX_OK;
}
