#include "status-file.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acl.h"
#include "attachments.h"
#include "event.h"
#include "ledger.h"
#include "plugins.h"
#include "debts.h"
#include "spool.h"
#include "supervise.h"
#include "units.h"
#include "version.h"
#include "reservations.h"
#include "resource-kinds.h"

enum { SCHEMA = 1 };

/* A request changes the sums several times, and a program may make several requests. So the broker
 * waits for the time `gather` after a change, and then sends one text for all changes in this time.
 * A text that could not be written is sent again after 1, 2, 4, and then every 8 seconds. */
/* ns */
static const int64_t gather = INT64_C(100000000), second = INT64_C(1000000000),
                     longest_pause = INT64_C(8000000000);

static void status_is_due(struct timer *timer);

/* The states follow in the order SETTLED, CHANGED, TOLD, SETTLED. CHANGED follows after TOLD if the
 * text could not be written or the writer has ended. In CHANGED the broker sends the text when the
 * timer is due. If no writer runs, the broker sends the text when a writer runs again. */
enum told {
    SETTLED, /* the file has the last text */
    CHANGED,
    TOLD, /* the text was sent, and the writer has not answered */
};

/* The facts that can change. The broker sends a new text when they differ from the facts of the
 * last text. */
struct facts {
    uint64_t ledger, removals, serving; /* serving: a bit for each plugin */
    unsigned attached, rules;
};

static struct {
    struct program publisher;
    char since[40], config[PATH_MAX];
    enum told state;
    struct timer timer;
    int64_t not_before, pause;
    struct facts told;
    /* the last text; NULL: no text was sent, or the file does not have the last text */
    char *told_text;
    bool refused; /* since the last text, a request was refused because there was no room */
    int64_t failed_window;
    unsigned failed_count;
    json_t *pools; /* the pools of the text that is being made */
} status = {.timer.due = status_is_due, .pause = INT64_C(1000000000)};

/* ---- the text of status.json ---- */

static const char *program_of(const struct plugin_line *line)
{
    const char *slash = strrchr(line->program, '/');
    return slash == NULL ? line->program : slash + 1;
}

static json_t *priorities_of(const struct plugin_line *line)
{
    return line->lowest == 0 ? json_null() : json_sprintf("%d-%d", line->lowest, line->highest);
}

/* The number of grants without a guarantee (background) on this line of plugins.conf. Null: the
 * line is for CPU time, or for a resource that cannot be used without a guarantee. */
static json_t *background_of(int plugin)
{
    return resource_where(plugin_line(plugin)->resource) == NULL
               ? json_null()
               : json_integer((json_int_t)ledger_background(plugin));
}

/* The value of enforce= that is in force for the line; NULL: the line cannot have enforce=. */
static const char *enforce_of(const struct plugin_line *line)
{
    if (line->raises)
        return "ioprio";
    if (line->kept)
        return line->resource == RESOURCE_DISK ? "cgroup" : "htb";
    if (line->resource == RESOURCE_CPU ? line->deadline : resource_where(line->resource) == NULL)
        return NULL;
    return line->enforced ? "runtime" : "none";
}

static json_t *plugins_as_json(bool running)
{
    char cpus[CPU_LIST_TEXT];
    json_t *plugins = json_array();
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        const char *is = !running               ? "ended"
                         : line->off[0] != '\0' ? "off"
                         : plugin_is_serving(i) ? "serving"
                                                : "restarting";
        const bool schedules = line->resource == RESOURCE_CPU;
        json_array_append_new(
            plugins,
            json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o, s:s, s:s, s:s, s:o, s:s?, s:i, s:s}",
                      "name", line->name, "program", program_of(line), "resource",
                      resource_name(line->resource), "where",
                      line->where[0] == '\0' ? NULL : line->where, "policy",
                      !schedules       ? NULL
                      : line->deadline ? "deadline"
                                       : "fixed-priority",
                      "priorities", priorities_of(line), "tests", line->tests, "cpus",
                      format_cpus(&line->cpus, cpus), "state", is, "background", background_of(i),
                      "enforce", enforce_of(line), "line", line->line, "text", line->text));
    }
    return plugins;
}

static const char *unit_of(const struct pool *pool)
{
    return pool->of == &resource_cpu ? "CPU" : resource_name(plugin_line(pool->plugin)->resource);
}

static void add_pool(const struct pool *pool)
{
    char name[POOL_TEXT], capacity[POOL_TEXT], used[POOL_TEXT], left[POOL_TEXT];
    const struct resource_kind *kind = pool->of;
    const uint64_t is_free = *pool->used < pool->capacity ? pool->capacity - *pool->used : 0;
    kind->name(pool, name);
    json_array_append_new(status.pools,
                          json_pack("{s:s, s:s?, s:o, s:s, s:s, s:s, s:s}", "name", name, "plugin",
                                    pool->plugin < 0 ? NULL : plugin_line(pool->plugin)->name,
                                    "cpus", kind->cpus(pool), "unit", unit_of(pool), "capacity",
                                    kind->format(pool->capacity, capacity), "used",
                                    kind->format(*pool->used, used), "free",
                                    kind->format(is_free, left)));
}

/* The number of granted reservations. The ledger also counts debts, which are no reservations. So
 * the function subtracts the number of debts. */
static json_int_t reservations(void)
{
    return (json_int_t)(ledger_additions() - ledger_removals() - debt_count());
}

/* The number of threads that are still real-time when the broker ends. The threads in the state
 * LAID_DOWN have their former attributes already, so they do not count. */
static json_int_t attached_still(void)
{
    json_int_t count = 0;
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        count += reservation->attachment != NULL &&
                 reservation->attachment->state != ATTACHMENT_LAID_DOWN;
    return count;
}

/* The number of the broker's pid namespace in nsfs(5). It tells users whether the broker is in
 * their pid namespace, and so knows their threads by the same thread ids. */
static json_int_t pid_namespace(void)
{
    struct stat file;
    return stat("/proc/self/ns/pid", &file) == 0 ? (json_int_t)file.st_ino : 0;
}

static json_t *config_as_json(void)
{
    json_t *path = json_string(status.config);
    return path == NULL ? json_null() : path; /* null: the path is not UTF-8 */
}

/* Returns a new text. NULL: out of memory. */
static char *write_text(bool running)
{
    size_t length;
    status.pools = json_array();
    ledger_pools(add_pool);
    json_t *whole =
        json_pack("{s:i, s:s, s:b, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "schema", SCHEMA,
                  "version", RTF_VERSION, "running", running, "since", status.since, "plugins",
                  plugins_as_json(running), "pools", status.pools, "reservations", reservations(),
                  "attached", running ? (json_int_t)attachments_count() : attached_still(),
                  "pid_namespace", pid_namespace(), "config", config_as_json(), "rules",
                  acl_as_json(rules));
    const char *line = json_as_line(whole, &length);
    char *text = line == NULL ? NULL : strndup(line, length);
    json_decref(whole);
    return text;
}

/* ---- when a text is sent ---- */

static void status_go_to(enum told next, int64_t at)
{
    status.state = next;
    timer_set(&status.timer, at);
}

static struct facts status_facts(void)
{
    struct facts now = {.ledger = ledger_additions() + ledger_removals(),
                        .removals = ledger_removals(),
                        .attached = attachments_count(),
                        .rules = acl_number(rules)};
    for (int i = 0; i < plugins_count(); i++)
        now.serving |= (uint64_t)plugin_is_serving(i) << i;
    return now;
}

static bool status_is_told(const struct facts *now)
{
    const struct facts *told = &status.told;
    return now->ledger == told->ledger && now->serving == told->serving &&
           now->attached == told->attached && now->rules == told->rules;
}

static void status_forget(void)
{
    free(status.told_text);
    status.told_text = NULL;
}

static void status_failed(int error)
{
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "status.json cannot be written: %s; the old file stays",
             strerror(error));
    (void)event_write_rarely(&(struct event){.stage = "broker",
                                             .decision = "error",
                                             .reason = reason,
                                             .microseconds = -1},
                             &status.failed_window, &status.failed_count);
    status_forget();
    status_go_to(CHANGED, monotonic_now() + status.pause);
    status.pause = status.pause * 2 > longest_pause ? longest_pause : status.pause * 2;
}

static void status_tell(bool running)
{
    char *text = write_text(running);
    const struct facts now = status_facts();
    const bool has_come = status.refused && now.removals != status.told.removals;
    struct coprocess *process = &status.publisher.process;
    status.told = now;
    status.refused = false;
    if (text == NULL) {
        status_failed(ENOMEM);
        return;
    }
    if (status.told_text != NULL && strcmp(text, status.told_text) == 0 && !has_come) {
        free(text);
        /* the sums are equal to the sums of the last text again */
        status_go_to(SETTLED, INT64_MAX);
        return;
    }
    status_forget();
    status.told_text = text;
    paragraph_add_text(&process->output, text, strlen(text));
    status_go_to(TOLD, INT64_MAX);
    if (!coprocess_flush(process))
        supervise_fail(&status.publisher, "it does not read its input");
}

static void status_is_due(struct timer *timer)
{
    (void)timer;
    status_tell(true);
}

bool status_is_settled(void)
{
    return status.state != TOLD;
}

void status_refused(void)
{
    status.refused = true;
}

void status_notice(void)
{
    const struct facts now = status_facts();
    if (status.state != SETTLED || status_is_told(&now))
        return;
    const int64_t gathered = monotonic_now() + gather;
    status_go_to(CHANGED, gathered < status.not_before ? status.not_before : gathered);
}

void status_hurry(void)
{
    status.not_before = 0;
    if (status.state == SETTLED)
        status_go_to(CHANGED, monotonic_now());
}

/* ---- the writer ---- */

static void status_on_start(struct program *publisher, bool again)
{
    (void)publisher;
    if (again)
        status_go_to(CHANGED, status.not_before);
    else
        status_tell(true);
}

static bool status_on_message(struct program *publisher, const struct paragraph *answer, int *fd)
{
    uint64_t error;
    (void)publisher;
    (void)fd;
    if (status.state != TOLD || paragraph_get_number(answer, "error", INT32_MAX, &error) != 1)
        return true;
    status.not_before = monotonic_now() + second;
    if (error != 0) {
        status_failed((int)error);
        return true;
    }
    status.pause = second;
    status_go_to(SETTLED, INT64_MAX);
    return true;
}

static void status_on_gone(struct program *publisher, const char *why)
{
    (void)publisher;
    (void)why;
    status_forget();
    status_go_to(CHANGED, INT64_MAX);
}

static const struct program_description publisher_is = {
    .name = "the writer of status.json",
    .kind = CHILD_PUBLISHER,
    .talk = COPROCESS_PIPES,
    SUPERVISE_EACH_SECOND,
    .on_start = status_on_start,
    .on_message = status_on_message,
    .on_gone = status_on_gone,
};

void status_prepare(const char *program, gid_t group, const char *directory)
{
    char number[NUMBER_TEXT];
    if (realpath(directory, status.config) == NULL)
        snprintf(status.config, sizeof status.config, "%s", directory);
    snprintf(number, sizeof number, "%u", group);
    char *const argv[] = {(char *)program, number, NULL};
    supervise_prepare(&status.publisher, &publisher_is, argv, (struct identity_to_run_as){0, 0});
}

bool status_start(void)
{
    (void)format_now(status.since);
    return supervise_start(&status.publisher, -1, spool.root);
}

static void status_wait(int64_t until)
{
    while (status.state == TOLD && supervise_wait(&status.publisher, until))
        ;
}

/* The broker may not have noticed that the writer has ended, or the writer may end while it writes
 * this text. In both cases another writer is started and gets the text, at most twice. */
void status_end(void)
{
    const int64_t until = monotonic_now() + second;
    if (status.publisher.state == PROGRAM_STOPPED)
        return;
    status_wait(until);
    for (int writers = 0; writers < 2 && status.state != TOLD && supervise_hurry(&status.publisher);
         writers++) {
        status_tell(false);
        status_wait(until);
        if (supervise_runs(&status.publisher))
            return;
    }
}
