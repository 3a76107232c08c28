#include "status.h"

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
#include "coprocess.h"
#include "event.h"
#include "ledger.h"
#include "plugins.h"
#include "debts.h"
#include "spool.h"
#include "units.h"
#include "version.h"
#include "reservations.h"
#include "resource-kinds.h"

enum { SCHEMA = 1 };

/* A request changes the books several times, and a program asks for more than one thing: so long is waited for what belongs together. What could not
 * be written is tried again after 1, 2, 4 and then each 8 seconds. */
static const int64_t gather = INT64_C(100000000), second = INT64_C(1000000000), longest_pause = INT64_C(8000000000); /* ns */

static void ready(struct source *source, uint32_t events);
static void go_on(struct timer *due);

static struct coprocess publisher = {.source.ready = ready, .in = -1, .out = -1};
static int child = -1;
static char since[40], config[PATH_MAX];

/* NONE -> TOLD -> SETTLED -> CHANGED -> TOLD, or TOLD -> CHANGED when it could not be written; from each of them to GONE when the writer ends, and
 * from there to TOLD. In CHANGED and GONE something is to be done at its time. */
enum state {
    NONE,    /* there is no writer, and will be none */
    GONE,
    SETTLED, /* the file has what was told last */
    CHANGED,
    TOLD,    /* the writer has not answered */
};
static enum state state;
static struct timer timer = {.due = go_on};
static int64_t not_before, pause = INT64_C(1000000000);

/* What the text that was told last is made of, as far as it changes; and that text. */
struct facts {
    uint64_t ledger, removals, serving; /* by plugin */
    unsigned attached, rules;
};
static struct facts told;
static bool refused; /* somebody, for want of room, since then */
static char *told_text;

static int64_t failed_window;
static unsigned failed_count;

/* ---- the text ---- */

static const char *program_of(const struct plugin_line *line)
{
    const char *slash = strrchr(line->program, '/');
    return slash == NULL ? line->program : slash + 1;
}

static json_t *priorities_of(const struct plugin_line *line)
{
    return line->lowest == 0 ? json_null() : json_sprintf("%d-%d", line->lowest, line->highest);
}

/* Only what is somewhere can be had without a guarantee. */
static json_t *background_of(int plugin)
{
    return resource_where(plugin_line(plugin)->resource) == NULL ? json_null() : json_integer((json_int_t)ledger_background(plugin));
}

/* The value of enforce= that is in force; NULL if the line cannot have one. */
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
        const char *is = !running ? "ended" : line->off[0] != '\0' ? "off" : plugin_is_serving(i) ? "serving" : "restarting";
        const bool schedules = line->resource == RESOURCE_CPU;
        json_array_append_new(plugins, json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o, s:s, s:s, s:s, s:o, s:s?, s:i, s:s}", "name", line->name, "program", program_of(line),
                                                 "resource", resource_name(line->resource), "where", line->where[0] == '\0' ? NULL : line->where, "policy",
                                                 !schedules ? NULL : line->deadline ? "deadline" : "fixed-priority", "priorities", priorities_of(line),
                                                 "tests", line->tests, "cpus", format_cpus(&line->cpus, cpus), "state", is, "background", background_of(i), "enforce", enforce_of(line),
                                                 "line", line->line, "text", line->text));
    }
    return plugins;
}

static const char *unit_of(const struct pool *pool)
{
    return pool->of == &resource_cpu ? "CPU" : resource_name(plugin_line(pool->plugin)->resource);
}

static json_t *pools;

static void add_pool(const struct pool *pool)
{
    char name[POOL_TEXT], capacity[POOL_TEXT], used[POOL_TEXT], left[POOL_TEXT];
    const struct resource_kind *kind = pool->of;
    const uint64_t is_free = *pool->used < pool->capacity ? pool->capacity - *pool->used : 0;
    kind->name(pool, name);
    json_array_append_new(pools, json_pack("{s:s, s:s?, s:o, s:s, s:s, s:s, s:s}", "name", name, "plugin",
                                           pool->plugin < 0 ? NULL : plugin_line(pool->plugin)->name, "cpus", kind->cpus(pool), "unit", unit_of(pool),
                                           "capacity", kind->format(pool->capacity, capacity), "used", kind->format(*pool->used, used),
                                           "free", kind->format(is_free, left)));
}

/* Grants that are owed are in the ledger, too, and nobody's any more. */
static json_int_t reservations(void)
{
    return (json_int_t)(ledger_additions() - ledger_removals() - debt_count());
}

/* A broker that ends may have put threads back, and remembers them. */
static json_int_t attached_still(void)
{
    json_int_t count = 0;
    for (const struct reservation *reservation = reservation_first(); reservation != NULL; reservation = reservation_next(reservation))
        count += reservation->attachment != NULL && reservation->attachment->state != ATTACHMENT_LAID_DOWN;
    return count;
}

/* Its number in nsfs(5), by which a user knows whether thread ids mean the same to the broker. */
static json_int_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (json_int_t)status.st_ino : 0;
}

static json_t *config_as_json(void)
{
    json_t *path = json_string(config);
    return path == NULL ? json_null() : path; /* the path is not UTF-8 */
}

/* A new text, or NULL: no memory. */
static char *write_text(bool running)
{
    size_t length;
    pools = json_array();
    ledger_pools(add_pool);
    json_t *status = json_pack("{s:i, s:s, s:b, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "schema", SCHEMA, "version", RTF_VERSION, "running", running, "since", since,
                               "plugins", plugins_as_json(running), "pools", pools, "reservations", reservations(),
                               "attached", running ? (json_int_t)attachments_count() : attached_still(), "pid_namespace", pid_namespace(),
                               "config", config_as_json(), "rules", acl_as_json(rules));
    const char *line = json_as_line(status, &length);
    char *text = line == NULL ? NULL : strndup(line, length);
    json_decref(status);
    return text;
}

/* ---- when it is told ---- */

static void go_to(enum state next, int64_t at)
{
    state = next;
    timer_set(&timer, at);
}

static struct facts facts_now(void)
{
    struct facts now = {.ledger = ledger_additions() + ledger_removals(), .removals = ledger_removals(), .attached = attachments_count(), .rules = acl_number(rules)};
    for (int i = 0; i < plugins_count(); i++)
        now.serving |= (uint64_t)plugin_is_serving(i) << i;
    return now;
}

static bool are_told(const struct facts *now)
{
    return now->ledger == told.ledger && now->serving == told.serving && now->attached == told.attached && now->rules == told.rules;
}

static void forget_told(void)
{
    free(told_text);
    told_text = NULL;
}

/* It ended, or never came to be. Soon enough for the file, and no sooner than the next text may follow the last. */
static void lose(void)
{
    coprocess_kill(&publisher);
    forget_told();
    go_to(GONE, monotonic_now() + second);
}

static void failed(int error)
{
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "status.json cannot be written: %s; it is as it was", strerror(error));
    event_write_rarely(&(struct event){.stage = "broker", .decision = "error", .reason = reason, .microseconds = -1}, &failed_window, &failed_count);
    forget_told();
    go_to(CHANGED, monotonic_now() + pause);
    pause = pause * 2 > longest_pause ? longest_pause : pause * 2;
}

static void tell(bool running)
{
    char *text = write_text(running);
    const struct facts now = facts_now();
    const bool has_come = refused && now.removals != told.removals;
    told = now;
    refused = false;
    if (text == NULL) {
        failed(ENOMEM);
        return;
    }
    if (told_text != NULL && strcmp(text, told_text) == 0 && !has_come) {
        free(text);
        go_to(SETTLED, INT64_MAX); /* what has changed has changed back */
        return;
    }
    forget_told();
    told_text = text;
    paragraph_add_text(&publisher.output, text, strlen(text));
    go_to(TOLD, INT64_MAX);
    if (!coprocess_flush(&publisher))
        lose();
}

static bool start(void)
{
    if (coprocess_start(&publisher, child, COPROCESS_PIPES, -1, spool.root))
        return true;
    go_to(GONE, monotonic_now() + second);
    return false;
}

void status_prepare(const char *program, gid_t group, const char *directory)
{
    char number[NUMBER_TEXT];
    if (realpath(directory, config) == NULL)
        snprintf(config, sizeof config, "%s", directory);
    snprintf(number, sizeof number, "%u", group);
    char *const argv[] = {(char *)program, number, NULL};
    child = launcher_add(CHILD_PUBLISHER, argv, (struct identity_to_run_as){0, 0});
}

bool status_start(void)
{
    (void)format_now(since);
    if (!start())
        return false;
    tell(true);
    return true;
}

bool status_is_settled(void)
{
    return state != TOLD;
}

void status_refused(void)
{
    refused = true;
}

void status_notice(void)
{
    const struct facts now = facts_now();
    if (state != SETTLED || are_told(&now))
        return;
    const int64_t gathered = monotonic_now() + gather;
    go_to(CHANGED, gathered < not_before ? not_before : gathered);
}

void status_hurry(void)
{
    not_before = 0;
    if (state == SETTLED)
        go_to(CHANGED, monotonic_now());
}

static void go_on(struct timer *due)
{
    (void)due;
    if (state == CHANGED) {
        tell(true);
    } else if (start()) {
        event_broker("error", "the writer of status.json ended and is started again");
        tell(true);
    }
}

/* ---- what comes of it ---- */

static void take_answer(const struct paragraph *answer)
{
    uint64_t error;
    if (state != TOLD || paragraph_get_number(answer, "error", INT32_MAX, &error) != 1)
        return;
    not_before = monotonic_now() + second;
    if (error != 0) {
        failed((int)error);
        return;
    }
    pause = second;
    go_to(SETTLED, INT64_MAX);
}

static void hear(void)
{
    struct paragraph answer;
    const char *why;
    int taken;
    const bool alive = coprocess_read(&publisher) && (!publisher.writing || coprocess_flush(&publisher));
    while ((taken = paragraph_take(&publisher.input, &answer, &why)) == 1)
        take_answer(&answer);
    if (!alive || taken < 0)
        lose();
}

static void ready(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
    hear();
}

static void wait_for_answer(int64_t until)
{
    int64_t left;
    while (state == TOLD && (left = until - monotonic_now()) > 0) {
        struct pollfd both[] = {{.fd = publisher.in, .events = POLLIN}, {.fd = publisher.writing ? publisher.out : -1, .events = POLLOUT}};
        if (poll(both, 2, (int)(left / 1000000) + 1) > 0)
            hear();
    }
}

void status_end(void)
{
    const int64_t until = monotonic_now() + second;
    if (state == NONE || (state == GONE && !start()))
        return;
    wait_for_answer(until);
    if (state == TOLD || state == GONE)
        return;
    tell(false);
    wait_for_answer(until);
}
