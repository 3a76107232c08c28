#include "plugins.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "config-lines.h"
#include "event.h"
#include "units.h"

enum { PROTOCOL = 1 };
static const int64_t greeting_within = INT64_C(5000000000); /* is_late says it in words */
static const int64_t first_pause = INT64_C(100000000), longest_pause = INT64_C(10000000000), good_behaviour = INT64_C(60000000000);

/* Between two questions it may have to tidy up: so much for each, and so much at once. */
static const int64_t tidying = INT64_C(100000), unasked_limit = INT64_C(2) * CHILD_USES;

enum op { OP_ACCEPT, OP_SCHEDULE, OP_RELEASE, OP_LOAD };

struct pending {
    STAILQ_ENTRY(pending) next;
    uint64_t id, task;
    enum op op;
};
STAILQ_HEAD(pending_list, pending);

struct plugin {
    struct coprocess process;
    struct timer timer; /* its start, while it is down; else its time to answer. At once when somebody waits for what was lost */
    int child;
    enum { DOWN, GREETING, UP } state;
    struct pending_list pending, lost; /* lost: owed when it went down */
    int64_t since;       /* since when it owes something: its start, the sending, or its last sign of life */
    int64_t restart_at, pause;
    bool unsent, ended; /* ended: at end-of-file; what it said before still counts */
    /* CPU time, ns: what its first start took until it greeted, and this one; what it may have used since it was told last, for
     * somebody had asked; and what it has used beyond that. */
    int64_t first_start, this_start, asked, unasked;
    int64_t started, greeted, counted; /* CLOCK_MONOTONIC; counted: until then `asked` is up to date */
    int64_t slow_window;
    unsigned slow_count;
};

#define wrong(reason, line, ...) config_lines_wrong(reason, "plugins.conf", line, __VA_ARGS__)

static struct {
    struct plugin plugin[PLUGINS_MAX];
    uint64_t last_id;
    char no_start[REASON_BYTES]; /* why the broker does not start; "": no reason */
    void (*tell)(int plugin, const struct plugin_event *event);
} plugins;

static int index_of(const struct plugin *plugin)
{
    return (int)(plugin - plugins.plugin);
}

static const struct plugin_line *line_of(const struct plugin *plugin)
{
    return plugin_line(index_of(plugin));
}

static int64_t time_of(const struct plugin *plugin)
{
    if (!STAILQ_EMPTY(&plugin->lost))
        return monotonic_now();
    if (plugin->state == DOWN)
        return plugin->restart_at;
    if (plugin->since == INT64_MAX || (plugin->state == UP && STAILQ_EMPTY(&plugin->pending)))
        return INT64_MAX;
    return plugin->since + (plugin->state == GREETING ? greeting_within : line_of(plugin)->timeout);
}

/* After whatever may have changed it. */
static void reckon(struct plugin *plugin)
{
    timer_set(&plugin->timer, time_of(plugin));
}

/* ---- starting and ending ---- */

static int add_child(int index, struct identity_to_run_as as)
{
    const struct plugin_line *line = plugin_line(index);
    char name[64], cpus[CPU_LIST_TEXT + 8], list[CPU_LIST_TEXT], priority[32], *argv[CONFIG_WORDS + 4], *words;
    int argc = 0;
    snprintf(name, sizeof name, "name=%s", line->name);
    snprintf(cpus, sizeof cpus, "cpus=%s", format_cpus(&line->cpus, list));
    if (line->deadline || line->resource != RESOURCE_CPU)
        snprintf(priority, sizeof priority, "priority=-");
    else
        snprintf(priority, sizeof priority, "priority=%d-%d", line->lowest, line->highest);
    argv[argc++] = line->program;
    argv[argc++] = name;
    argv[argc++] = cpus;
    argv[argc++] = priority;
    words = line->words == NULL ? NULL : strdup(line->words);
    for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    argv[argc] = NULL;
    int child = launcher_add(CHILD_PLUGIN, argv, as);
    free(words);
    return child;
}

void plugins_prepare(struct identity_to_run_as as, void (*event)(int plugin, const struct plugin_event *event))
{
    plugins.tell = event;
    for (int i = 0; i < plugins_count(); i++)
        plugins.plugin[i].child = add_child(i, as);
}

static bool spawn(struct plugin *plugin)
{
    bool started = coprocess_start(&plugin->process, plugin->child, COPROCESS_PIPES, -1, -1);
    plugin->state = started ? GREETING : DOWN;
    plugin->since = plugin->started = monotonic_now();
    plugin->greeted = INT64_MAX;
    plugin->this_start = plugin->asked = plugin->unasked = 0;
    reckon(plugin);
    return started;
}

/* What keeps the broker from starting; later it is the log's. The first reason is the best. */
static void does_not_start(const struct plugin *plugin, const char *how, const char *why)
{
    if (plugin->state == GREETING && plugins.no_start[0] == '\0')
        (void)wrong(plugins.no_start, line_of(plugin)->line, "the plugin %s %s%.250s", line_of(plugin)->name, how, why);
}

static bool says(const struct paragraph *greeting, const char *key, const char *value)
{
    const char *said = paragraph_get(greeting, key);
    return said != NULL && strcmp(said, value) == 0;
}

static bool greet(struct plugin *plugin, const struct paragraph *greeting, char *why, size_t size)
{
    const char *answer = paragraph_get(greeting, "answer"), *tests = paragraph_get(greeting, "tests");
    const char *reason = paragraph_get(greeting, "reason");
    uint64_t protocol;
    if (paragraph_get_number(greeting, "protocol", 1000, &protocol) != 1 || answer == NULL) {
        snprintf(why, size, "its greeting is not protocol=1 and answer=");
        return false;
    }
    if (strcmp(answer, "ok") != 0 || protocol != PROTOCOL) {
        snprintf(why, size, "%.200s", strcmp(answer, "ok") == 0 ? "it speaks another protocol than 1" : reason == NULL ? "it gave no reason" : reason);
        return false;
    }
    if (!plugin_has_greeted(index_of(plugin), tests == NULL ? "none" : tests, says(greeting, "judges", "load"),
                            says(greeting, "grants", "tested"))) {
        snprintf(why, size, "it does not greet as it did at the start");
        return false;
    }
    plugin->state = UP;
    plugin->greeted = monotonic_now();
    reckon(plugin);
    return true;
}

static void ready(struct source *source, uint32_t events);
static void due(struct timer *timer);

bool plugins_start(char reason[static REASON_BYTES])
{
    for (int i = 0; i < plugins_count(); i++) {
        plugins.plugin[i].process = (struct coprocess){.source.ready = ready, .in = -1, .out = -1};
        plugins.plugin[i].timer = (struct timer){.due = due};
        STAILQ_INIT(&plugins.plugin[i].pending);
        STAILQ_INIT(&plugins.plugin[i].lost);
    }
    for (int i = 0; i < plugins_count(); i++)
        if (!spawn(&plugins.plugin[i]))
            return wrong(reason, plugin_line(i)->line, "%.200s: %s", plugin_line(i)->program, strerror(errno));
    return true;
}

int plugins_have_started(char reason[static REASON_BYTES])
{
    int started = 0;
    if (plugins.no_start[0] != '\0') {
        snprintf(reason, REASON_BYTES, "%s", plugins.no_start);
        return -1;
    }
    while (started < plugins_count() && plugins.plugin[started].state == UP)
        started++;
    return started < plugins_count() ? 0 : plugins_check_neighbours(reason) ? 1 : -1;
}

void plugin_fail(int index, const char *reason)
{
    struct plugin *plugin = &plugins.plugin[index];
    int64_t now = monotonic_now();
    struct event event = {.stage = "plugin", .decision = "killed", .reason = reason, .plugin = line_of(plugin)->name, .microseconds = -1};
    event_write(&event);
    does_not_start(plugin, "did not greet: ", reason);
    coprocess_kill(&plugin->process);
    STAILQ_CONCAT(&plugin->lost, &plugin->pending);
    bool behaved = plugin->state == UP && now - plugin->restart_at > good_behaviour;
    plugin->state = DOWN;
    plugin->unsent = plugin->ended = false;
    plugin->restart_at = behaved ? now : now + plugin->pause;
    plugin->pause = behaved || plugin->pause == 0 ? first_pause : plugin->pause * 2 > longest_pause ? longest_pause : plugin->pause * 2;
    reckon(plugin);
}

/* ---- asking ---- */

static struct paragraph_output *begin(struct plugin *plugin, enum op op, uint64_t task)
{
    static const char *const names[] = {"accept", "schedule", "release", "load"};
    struct paragraph_output *output = &plugin->process.output;
    struct pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL)
        abort();
    pending->id = ++plugins.last_id;
    pending->op = op;
    pending->task = task;
    if (plugin->state != UP) {
        /* What it has to know it is told when it is back; an accept is answered at once. */
        STAILQ_INSERT_TAIL(&plugin->lost, pending, next);
        reckon(plugin);
        return NULL;
    }
    if (STAILQ_EMPTY(&plugin->pending))
        plugin->since = INT64_MAX; /* its time does not run before it is told */
    STAILQ_INSERT_TAIL(&plugin->pending, pending, next);
    plugin->unsent = true;
    paragraph_add(output, "op", names[op]);
    paragraph_add_number(output, "id", pending->id);
    paragraph_add_number(output, "task", task);
    return output;
}

uint64_t plugin_accept(int index, uint64_t task, const struct spec *spec, uint64_t most, bool commit)
{
    struct paragraph_output *output = begin(&plugins.plugin[index], OP_ACCEPT, task);
    if (output == NULL)
        return plugins.last_id;
    resource_kind_of(index)->ask(output, index, spec, most);
    if (commit)
        paragraph_add(output, "commit", "if-ok");
    paragraph_close(output);
    return plugins.last_id;
}

uint64_t plugin_schedule(int index, uint64_t task, const struct grant *grant)
{
    struct paragraph_output *output = begin(&plugins.plugin[index], OP_SCHEDULE, task);
    if (output == NULL)
        return plugins.last_id;
    resource_kind_of(index)->tell(output, index, grant);
    paragraph_close(output);
    return plugins.last_id;
}

uint64_t plugin_release(int index, uint64_t task)
{
    struct paragraph_output *output = begin(&plugins.plugin[index], OP_RELEASE, task);
    if (output != NULL)
        paragraph_close(output);
    return plugins.last_id;
}

bool plugin_is_releasing(int index, uint64_t task)
{
    const struct pending *pending;
    STAILQ_FOREACH(pending, &plugins.plugin[index].pending, next)
        if (pending->op == OP_RELEASE && pending->task == task)
            return true;
    return false;
}

void plugin_load(int index, uint64_t task, const struct grant *grant)
{
    struct paragraph_output *output = begin(&plugins.plugin[index], OP_LOAD, task);
    if (output == NULL)
        return;
    if (grant != NULL)
        cpu_tell_load(output, &grant->plan);
    paragraph_close(output);
}

uint64_t plugin_judge(int index, uint64_t task, const struct grant *offer)
{
    struct paragraph_output *output = begin(&plugins.plugin[index], OP_LOAD, task);
    if (output == NULL)
        return plugins.last_id;
    cpu_tell_load(output, &offer->plan);
    paragraph_add(output, "commit", "if-ok");
    paragraph_close(output);
    return plugins.last_id;
}

void plugins_flush(void)
{
    for (int i = 0; i < plugins_count(); i++) {
        struct plugin *plugin = &plugins.plugin[i];
        if (!plugin->unsent)
            continue;
        plugin->unsent = false;
        if (plugin->since == INT64_MAX) {
            plugin->since = monotonic_now();
            reckon(plugin);
        }
        if (!coprocess_flush(&plugin->process))
            plugin_fail(i, "it does not read");
    }
}

/* ---- hearing ---- */

static void hear(struct plugin *plugin)
{
    if (!plugin->process.running)
        return;
    if (plugin->process.writing)
        (void)coprocess_flush(&plugin->process);
    plugin->ended = !coprocess_read(&plugin->process);
}

static bool take_update(const struct paragraph *said, struct plugin_event *event)
{
    event->kind = PLUGIN_UPDATE;
    return paragraph_get_number(said, "update", UINT64_MAX, &event->task) == 1 && cpu_take_move(said, &event->move);
}

static void count_asked(struct plugin *plugin, int64_t now)
{
    if (plugin->since == INT64_MAX) /* it has answered what it has not been told yet */
        plugin->since = now;
    plugin->asked += now - (plugin->since > plugin->counted ? plugin->since : plugin->counted);
    plugin->counted = now;
}

/* It has done something that it was asked for, from `since` on. */
static void worked(struct plugin *plugin)
{
    char reason[160];
    const int64_t now = monotonic_now(), timeout = line_of(plugin)->timeout;
    count_asked(plugin, now);
    const int64_t took = now - plugin->since;
    plugin->asked += tidying;
    plugin->since = now;
    reckon(plugin);
    if (took <= timeout / 2)
        return;
    snprintf(reason, sizeof reason, "its answer took %lld ms, and everybody else waited; at %lld ms (timeout=) it would have been killed",
             (long long)(took / 1000000), (long long)(timeout / 1000000));
    struct event slow = {.stage = "plugin", .decision = "warning", .reason = reason, .plugin = line_of(plugin)->name, .microseconds = -1};
    event_write_rarely(&slow, &plugin->slow_window, &plugin->slow_count);
}

static bool take_answer(struct plugin *plugin, const struct paragraph *said, struct plugin_event *event)
{
    const char *answer = paragraph_get(said, "answer"), *reason = paragraph_get(said, "reason");
    struct pending *pending = STAILQ_FIRST(&plugin->pending);
    uint64_t id;
    int echoed = paragraph_get_number(said, "id", UINT64_MAX, &id);
    if (answer == NULL || pending == NULL || echoed < 0 || (echoed == 1 && id != pending->id) ||
        paragraph_get_number(said, "nearest", TIME_MAX, &event->nearest) < 0)
        return false;
    event->kind = PLUGIN_ANSWER;
    event->id = pending->id;
    const char *retry = paragraph_get(said, "retry");
    event->never = retry != NULL && strcmp(retry, "never") == 0;
    snprintf(event->reason, sizeof event->reason, "%s", reason == NULL ? "" : reason);
    const bool in_part = pending->op == OP_ACCEPT && line_of(plugin)->resource == RESOURCE_CPU; /* of other resources all or nothing */
    bool good = true;
    if (strcmp(answer, "no") == 0)
        event->answer = ANSWER_NO;
    else if (strcmp(answer, "ok") == 0 || (in_part && strcmp(answer, "partial") == 0)) {
        event->answer = answer[0] == 'o' ? ANSWER_OK : ANSWER_PARTIAL;
        good = pending->op != OP_ACCEPT || resource_kind_of((int)(plugin - plugins.plugin))->take_plan(said, &event->plan);
    } else
        good = false;
    if (good) {
        STAILQ_REMOVE_HEAD(&plugin->pending, next);
        free(pending);
        worked(plugin); /* updates, however many, are no answer */
    }
    return good;
}

static bool take_said(struct plugin *plugin, const struct paragraph *said, struct plugin_event *event, char *why, size_t size)
{
    if (plugin->state == GREETING) {
        event->kind = PLUGIN_UP;
        if (greet(plugin, said, why, size))
            return true;
        does_not_start(plugin, "refuses to start: ", why);
        return false;
    }
    if (paragraph_get(said, "update") != NULL)
        return take_update(said, event);
    return take_answer(plugin, said, event);
}

/* What it owed when it went down. Only those who asked something are waiting. */
static bool take_lost(struct plugin *plugin, struct plugin_event *event)
{
    struct pending *pending = STAILQ_FIRST(&plugin->lost);
    if (pending == NULL)
        return false;
    *event = (struct plugin_event){.kind = PLUGIN_ANSWER, .id = pending->id, .answer = ANSWER_RESTARTING};
    snprintf(event->reason, sizeof event->reason, "the plugin is being restarted");
    STAILQ_REMOVE_HEAD(&plugin->lost, next);
    free(pending);
    reckon(plugin);
    return true;
}

static bool take_event(int index, struct plugin_event *event)
{
    struct plugin *plugin = &plugins.plugin[index];
    struct paragraph said;
    const char *form;
    char why[256] = "";
    if (take_lost(plugin, event))
        return true;
    if (plugin->state == DOWN)
        return false;
    int taken = paragraph_take(&plugin->process.input, &said, &form);
    if (taken == 0 && !plugin->ended)
        return false;
    if (taken == 0) {
        plugin_fail(index, "it ended");
        return take_lost(plugin, event);
    }
    *event = (struct plugin_event){0};
    if (taken < 0)
        snprintf(why, sizeof why, "it babbles: %s", form);
    else if (take_said(plugin, &said, event, why, sizeof why)) {
        if (event->kind == PLUGIN_UP) {
            struct event up = {.stage = "plugin", .decision = plugin->restart_at == 0 ? "started" : "restarted", .plugin = line_of(plugin)->name, .microseconds = -1};
            event_write(&up);
        }
        return true;
    }
    plugin_fail(index, why[0] != '\0' ? why : "it answered what rtf-plugin(7) does not allow");
    return take_lost(plugin, event);
}

static void take_events(struct plugin *plugin)
{
    struct plugin_event event;
    const int index = index_of(plugin);
    while (take_event(index, &event))
        plugins.tell(index, &event);
}

static void ready(struct source *source, uint32_t events)
{
    struct plugin *plugin = container_of(source, struct plugin, process.source);
    (void)events;
    hear(plugin);
    take_events(plugin);
}

/* ---- what they use ---- */

/* A program takes as long to start the second time as the first: that is what whoever spins instead has. */
static void used_to_start(int index, int64_t nanoseconds)
{
    char reason[160];
    struct plugin *plugin = &plugins.plugin[index];
    bool first = plugin->restart_at == 0;
    if (first)
        plugin->first_start += nanoseconds;
    plugin->this_start += nanoseconds;
    if (first || plugin->state != GREETING || plugin->this_start <= plugin->first_start * 2 + unasked_limit * 2)
        return;
    snprintf(reason, sizeof reason, "it used %lld ms of CPU time and has not greeted, which at first it did within %lld",
             (long long)(plugin->this_start / 1000000), (long long)((plugin->first_start + CHILD_USES) / 1000000));
    plugin_fail(index, reason);
}

static void used_to_serve(int index, int64_t nanoseconds)
{
    char reason[160];
    struct plugin *plugin = &plugins.plugin[index];
    if (!STAILQ_EMPTY(&plugin->pending) && plugin->since != INT64_MAX)
        count_asked(plugin, monotonic_now());
    plugin->unasked += nanoseconds - plugin->asked;
    if (plugin->unasked < 0)
        plugin->unasked = 0;
    plugin->asked = 0;
    if (plugin->unasked < unasked_limit)
        return;
    snprintf(reason, sizeof reason, "it used %lld ms of CPU time while nothing was asked, above all that is granted",
             (long long)(plugin->unasked / 1000000));
    plugin_fail(index, reason);
}

void plugin_used(const struct child_used *used)
{
    int index = 0;
    while (index < plugins_count() - 1 && plugins.plugin[index].child != used->child)
        index++;
    const struct plugin *plugin = &plugins.plugin[index];
    if (plugin->child != used->child || plugin->state == DOWN || used->at < plugin->started)
        return;
    /* It is told a moment after it was used. */
    if (used->at - used->nanoseconds < plugin->greeted)
        used_to_start(index, used->nanoseconds);
    else
        used_to_serve(index, used->nanoseconds);
}

bool plugin_is_serving(int index)
{
    return plugins.plugin[index].state == UP;
}

int64_t plugins_waited(int64_t now)
{
    int64_t longest = 0;
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin *plugin = &plugins.plugin[i];
        if (plugin->state != DOWN && !STAILQ_EMPTY(&plugin->pending) && now - plugin->since > longest)
            longest = now - plugin->since;
    }
    return longest;
}

/* ---- time ---- */

/* The broker itself may have been kept from looking (a suspend, SIGSTOP, a long turn): what is in the pipe by
 * now is not late. */
static bool has_spoken(struct plugin *plugin)
{
    size_t before = plugin->process.input.length - plugin->process.input.taken;
    hear(plugin);
    if (plugin->ended || plugin->process.input.length - plugin->process.input.taken == before)
        return false;
    if (plugin->state == UP)
        worked(plugin);
    plugin->since = monotonic_now();
    return true;
}

static void is_late(struct plugin *plugin)
{
    const bool greets = plugin->state == GREETING;
    if (has_spoken(plugin))
        return;
    does_not_start(plugin, "did not greet within 5 s (does it flush its output?)", "");
    plugin_fail(index_of(plugin), greets ? "it did not greet in time" : "it did not answer in time");
}

static void due(struct timer *timer)
{
    struct plugin *plugin = container_of(timer, struct plugin, timer);
    take_events(plugin); /* what was lost */
    if (time_of(plugin) <= monotonic_now()) {
        if (plugin->state != DOWN)
            is_late(plugin);
        else if (!spawn(plugin))
            plugin->restart_at = monotonic_now() + longest_pause;
        take_events(plugin);
    }
    reckon(plugin);
}
