#include "plugins.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "conf.h"
#include "event.h"
#include "units.h"

enum { PROTOCOL = 1 };
static const int64_t second = INT64_C(1000000000), greeting_within = INT64_C(5000000000);
static const int64_t first_pause = INT64_C(100000000), longest_pause = INT64_C(10000000000), good_behaviour = INT64_C(60000000000);

/* Between two questions it may have to tidy up: so much for each, and so much at once. */
static const int64_t tidying = INT64_C(100000), unasked_limit = INT64_C(2) * PART_USES;

enum op { OP_ACCEPT, OP_SCHEDULE, OP_RELEASE, OP_LOAD };

struct pending {
    STAILQ_ENTRY(pending) next;
    uint64_t id, task;
    enum op op;
};
STAILQ_HEAD(pending_list, pending);

struct plugin {
    struct coprocess process;
    int part;
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

#define wrong(reason, line, ...) conf_wrong(reason, "plugins.conf", line, __VA_ARGS__)

static struct plugin plugins[PLUGINS_MAX];
static uint64_t last_id;

static const struct plugin_line *line_of(const struct plugin *plugin)
{
    return plugin_line((int)(plugin - plugins));
}

/* ---- starting and ending ---- */

static int add_part(int index, struct identity_to_run_as as)
{
    const struct plugin_line *line = plugin_line(index);
    char name[64], cpus[CPU_LIST_TEXT + 8], list[CPU_LIST_TEXT], priority[32], *argv[CONF_WORDS + 4], *words;
    int argc = 0;
    snprintf(name, sizeof name, "name=%s", line->name);
    snprintf(cpus, sizeof cpus, "cpus=%s", format_cpus(&line->cpus, list));
    if (line->deadline)
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
    int part = starter_add(PART_PLUGIN, argv, as);
    free(words);
    return part;
}

void plugins_prepare(struct identity_to_run_as as)
{
    for (int i = 0; i < plugins_count(); i++)
        plugins[i].part = add_part(i, as);
}

static bool spawn(struct plugin *plugin)
{
    bool started = coprocess_start(&plugin->process, plugin->part, false, -1);
    plugin->state = started ? GREETING : DOWN;
    plugin->since = plugin->started = monotonic_now();
    plugin->greeted = INT64_MAX;
    plugin->this_start = plugin->asked = plugin->unasked = 0;
    return started;
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
    if (!plugin_has_greeted((int)(plugin - plugins), tests == NULL ? "none" : tests, says(greeting, "judges", "load"),
                            says(greeting, "grants", "tested"))) {
        snprintf(why, size, "it does not greet as it did at the start");
        return false;
    }
    plugin->state = UP;
    plugin->greeted = monotonic_now();
    return true;
}

/* At start only: the broker has nothing else to do yet. */
static bool await_greeting(struct plugin *plugin, char *reason)
{
    struct paragraph greeting;
    const char *why = "it closed its output";
    char text[256];
    int64_t until = monotonic_now() + greeting_within;
    for (;;) {
        int taken = paragraph_take(&plugin->process.input, &greeting, &why);
        if (taken == 1) {
            if (greet(plugin, &greeting, text, sizeof text))
                return true;
            return wrong(reason, line_of(plugin)->line, "the plugin %s refuses to start: %s", line_of(plugin)->name, text);
        }
        struct pollfd one = {.fd = plugin->process.in, .events = POLLIN};
        int64_t left = (until - monotonic_now()) / 1000000;
        if (taken == 0 && (left <= 0 || poll(&one, 1, (int)left) <= 0))
            return wrong(reason, line_of(plugin)->line, "the plugin %s did not greet within %d s (does it flush its output?)", line_of(plugin)->name,
                         (int)(greeting_within / second));
        if (taken < 0 || !coprocess_read(&plugin->process))
            return wrong(reason, line_of(plugin)->line, "the plugin %s (%.150s) did not greet: %s", line_of(plugin)->name, line_of(plugin)->program, why);
    }
}

bool plugins_start(char reason[static REASON_BYTES])
{
    for (int i = 0; i < plugins_count(); i++) {
        plugins[i].process = (struct coprocess){.source = {SOURCE_PLUGIN, i}, .in = -1, .out = -1};
        STAILQ_INIT(&plugins[i].pending);
        STAILQ_INIT(&plugins[i].lost);
    }
    for (int i = 0; i < plugins_count(); i++)
        if (!spawn(&plugins[i]))
            return wrong(reason, plugin_line(i)->line, "%.200s: %s", plugin_line(i)->program, strerror(errno));
    for (int i = 0; i < plugins_count(); i++)
        if (!await_greeting(&plugins[i], reason))
            return false;
    if (!plugins_check_neighbours(reason))
        return false;
    for (int i = 0; i < plugins_count(); i++) {
        struct event started = {.stage = "plugin", .decision = "started", .plugin = plugin_line(i)->name, .microseconds = -1};
        event_write(&started);
    }
    return true;
}

void plugin_fail(int index, const char *reason)
{
    struct plugin *plugin = &plugins[index];
    int64_t now = monotonic_now();
    struct event event = {.stage = "plugin", .decision = "killed", .reason = reason, .plugin = line_of(plugin)->name, .microseconds = -1};
    event_write(&event);
    coprocess_kill(&plugin->process);
    STAILQ_CONCAT(&plugin->lost, &plugin->pending);
    bool behaved = plugin->state == UP && now - plugin->restart_at > good_behaviour;
    plugin->state = DOWN;
    plugin->unsent = plugin->ended = false;
    plugin->restart_at = behaved ? now : now + plugin->pause;
    plugin->pause = behaved || plugin->pause == 0 ? first_pause : plugin->pause * 2 > longest_pause ? longest_pause : plugin->pause * 2;
}

/* ---- asking ---- */

static struct paragraph_output *begin(struct plugin *plugin, enum op op, uint64_t task)
{
    static const char *const names[] = {"accept", "schedule", "release", "load"};
    struct paragraph_output *output = &plugin->process.output;
    struct pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL)
        abort();
    pending->id = ++last_id;
    pending->op = op;
    pending->task = task;
    if (plugin->state != UP) {
        /* What it has to know it is told when it is back; an accept is answered at once. */
        STAILQ_INSERT_TAIL(&plugin->lost, pending, next);
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

static void add_if(struct paragraph_output *output, const char *key, uint64_t value)
{
    if (value != 0)
        paragraph_add_number(output, key, value);
}

uint64_t plugin_accept(int index, uint64_t task, const struct spec *spec, uint64_t max_runtime, bool commit)
{
    struct paragraph_output *output = begin(&plugins[index], OP_ACCEPT, task);
    if (output == NULL)
        return last_id;
    add_if(output, "runtime", spec->runtime);
    add_if(output, "period", spec->period);
    add_if(output, "deadline", spec->deadline);
    add_if(output, "desired_runtime", spec->desired_runtime);
    add_if(output, "priority", (uint64_t)spec->priority);
    add_if(output, "ignore_admission", spec->ignore_admission);
    if (max_runtime != UINT64_MAX)
        paragraph_add_number(output, "max_runtime", max_runtime);
    if (commit)
        paragraph_add(output, "commit", "if-ok");
    paragraph_close(output);
    return last_id;
}

uint64_t plugin_schedule(int index, uint64_t task, const struct grant *grant)
{
    char cpus[CPU_LIST_TEXT];
    const struct attributes *plan = &grant->plan;
    struct paragraph_output *output = begin(&plugins[index], OP_SCHEDULE, task);
    if (output == NULL)
        return last_id;
    paragraph_add(output, "cpus", format_cpus(&plan->cpus, cpus));
    paragraph_add(output, "policy", policy_name(plan->policy));
    add_if(output, "priority", (uint64_t)plan->priority);
    add_if(output, "runtime", plan->runtime);
    add_if(output, "deadline", plan->deadline);
    add_if(output, "period", plan->period);
    add_if(output, "accepted_runtime", plan->runtime);
    add_if(output, "desired_runtime", grant->spec.desired_runtime);
    add_if(output, "requested_priority", (uint64_t)grant->spec.priority);
    add_if(output, "ignore_admission", grant->spec.ignore_admission);
    paragraph_close(output);
    return last_id;
}

uint64_t plugin_release(int index, uint64_t task)
{
    struct paragraph_output *output = begin(&plugins[index], OP_RELEASE, task);
    if (output != NULL)
        paragraph_close(output);
    return last_id;
}

bool plugin_is_releasing(int index, uint64_t task)
{
    const struct pending *pending;
    STAILQ_FOREACH(pending, &plugins[index].pending, next)
        if (pending->op == OP_RELEASE && pending->task == task)
            return true;
    return false;
}

static void add_load(struct paragraph_output *output, const struct attributes *plan)
{
    char cpus[CPU_LIST_TEXT];
    paragraph_add(output, "cpus", format_cpus(&plan->cpus, cpus));
    paragraph_add(output, "policy", policy_name(plan->policy));
    add_if(output, "priority", (uint64_t)plan->priority);
    add_if(output, "runtime", plan->runtime);
    add_if(output, "period", plan->period);
    add_if(output, "deadline", plan->deadline);
}

void plugin_load(int index, uint64_t task, const struct grant *grant)
{
    struct paragraph_output *output = begin(&plugins[index], OP_LOAD, task);
    if (output == NULL)
        return;
    if (grant != NULL)
        add_load(output, &grant->plan);
    paragraph_close(output);
}

uint64_t plugin_judge(int index, uint64_t task, const struct grant *offer)
{
    struct paragraph_output *output = begin(&plugins[index], OP_LOAD, task);
    if (output == NULL)
        return last_id;
    add_load(output, &offer->plan);
    paragraph_add(output, "commit", "if-ok");
    paragraph_close(output);
    return last_id;
}

void plugins_flush(void)
{
    for (int i = 0; i < plugins_count(); i++) {
        struct plugin *plugin = &plugins[i];
        if (!plugin->unsent)
            continue;
        plugin->unsent = false;
        if (plugin->since == INT64_MAX)
            plugin->since = monotonic_now();
        if (!coprocess_flush(&plugin->process))
            plugin_fail(i, "it does not read");
    }
}

/* ---- hearing ---- */

void plugin_read(int index)
{
    struct plugin *plugin = &plugins[index];
    if (!plugin->process.running)
        return;
    if (plugin->process.writing)
        (void)coprocess_flush(&plugin->process);
    plugin->ended = !coprocess_read(&plugin->process);
}

static bool take_plan(const struct paragraph *said, struct plugin_event *event)
{
    uint64_t priority = 0, accepted = 0;
    const char *policy = paragraph_get(said, "policy"), *cpus = paragraph_get(said, "cpus");
    struct attributes *plan = &event->plan;
    if (policy == NULL || cpus == NULL || !policy_from_name(policy, &plan->policy) || !parse_cpus(cpus, &plan->cpus))
        return false;
    if (paragraph_get_number(said, "priority", PRIORITY_MAX, &priority) < 0 ||
        paragraph_get_number(said, "runtime", TIME_MAX, &plan->runtime) < 0 ||
        paragraph_get_number(said, "deadline", TIME_MAX, &plan->deadline) < 0 ||
        paragraph_get_number(said, "period", TIME_MAX, &plan->period) < 0 ||
        paragraph_get_number(said, "accepted_runtime", TIME_MAX, &accepted) < 0)
        return false;
    plan->priority = (int)priority;
    return accepted == 0 || accepted == plan->runtime;
}

static bool take_update(const struct paragraph *said, struct plugin_event *event)
{
    uint64_t priority;
    const char *cpus = paragraph_get(said, "cpus");
    int stated = paragraph_get_number(said, "priority", PRIORITY_MAX, &priority);
    event->kind = PLUGIN_UPDATE;
    event->has_cpus = cpus != NULL;
    event->has_priority = stated == 1;
    if (stated < 0 || paragraph_get_number(said, "update", UINT64_MAX, &event->task) != 1 ||
        (cpus != NULL && !parse_cpus(cpus, &event->plan.cpus)))
        return false;
    if (stated == 1)
        event->plan.priority = (int)priority;
    return true;
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
    bool accept = pending->op == OP_ACCEPT, good = true;
    if (strcmp(answer, "no") == 0)
        event->answer = ANSWER_NO;
    else if (strcmp(answer, "ok") == 0 || (accept && strcmp(answer, "partial") == 0)) {
        event->answer = answer[0] == 'o' ? ANSWER_OK : ANSWER_PARTIAL;
        good = !accept || take_plan(said, event);
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
        return greet(plugin, said, why, size);
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
    return true;
}

bool plugin_receive(int index, struct plugin_event *event)
{
    struct plugin *plugin = &plugins[index];
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
            struct event up = {.stage = "plugin", .decision = "restarted", .plugin = line_of(plugin)->name, .microseconds = -1};
            event_write(&up);
        }
        return true;
    }
    plugin_fail(index, why[0] != '\0' ? why : "it answered what rtf-plugin(7) does not allow");
    return take_lost(plugin, event);
}

static int64_t deadline_of(const struct plugin *plugin)
{
    if (plugin->state == DOWN)
        return plugin->restart_at;
    if (plugin->state == GREETING)
        return plugin->since + greeting_within;
    if (STAILQ_EMPTY(&plugin->pending) || plugin->since == INT64_MAX)
        return INT64_MAX;
    return plugin->since + line_of(plugin)->timeout;
}

int64_t plugins_deadline(void)
{
    int64_t earliest = INT64_MAX;
    for (int i = 0; i < plugins_count(); i++) {
        int64_t deadline = STAILQ_EMPTY(&plugins[i].lost) ? deadline_of(&plugins[i]) : 0;
        if (deadline < earliest)
            earliest = deadline;
    }
    return earliest;
}

/* ---- what they use ---- */

/* A program takes as long to start the second time as the first: that is what whoever spins instead has. */
static void used_to_start(int index, int64_t nanoseconds)
{
    char reason[160];
    struct plugin *plugin = &plugins[index];
    bool first = plugin->restart_at == 0;
    if (first)
        plugin->first_start += nanoseconds;
    plugin->this_start += nanoseconds;
    if (first || plugin->state != GREETING || plugin->this_start <= plugin->first_start * 2 + unasked_limit * 2)
        return;
    snprintf(reason, sizeof reason, "it used %lld ms of CPU time and has not greeted, which at first it did within %lld",
             (long long)(plugin->this_start / 1000000), (long long)((plugin->first_start + PART_USES) / 1000000));
    plugin_fail(index, reason);
}

static void used_to_serve(int index, int64_t nanoseconds)
{
    char reason[160];
    struct plugin *plugin = &plugins[index];
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

int plugin_used(const struct part_used *used)
{
    int index = 0;
    while (index < plugins_count() - 1 && plugins[index].part != used->part)
        index++;
    const struct plugin *plugin = &plugins[index];
    if (plugin->part != used->part || plugin->state == DOWN || used->at < plugin->started)
        return index;
    /* It is told a moment after it was used. */
    if (used->at - used->nanoseconds < plugin->greeted)
        used_to_start(index, used->nanoseconds);
    else
        used_to_serve(index, used->nanoseconds);
    return index;
}

bool plugin_is_serving(int index)
{
    return plugins[index].state == UP;
}

int64_t plugins_waited(int64_t now)
{
    int64_t longest = 0;
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin *plugin = &plugins[i];
        if (plugin->state != DOWN && !STAILQ_EMPTY(&plugin->pending) && now - plugin->since > longest)
            longest = now - plugin->since;
    }
    return longest;
}

/* The broker itself may have been kept from looking (a suspend, SIGSTOP, a long turn): what is in the pipe by
 * now is not late. */
static bool has_spoken(int index)
{
    struct plugin *plugin = &plugins[index];
    size_t before = plugin->process.input.length - plugin->process.input.taken;
    plugin_read(index);
    if (plugin->ended || plugin->process.input.length - plugin->process.input.taken == before)
        return false;
    if (plugin->state == UP)
        worked(plugin);
    plugin->since = monotonic_now();
    return true;
}

void plugins_expire(int64_t now)
{
    for (int i = 0; i < plugins_count(); i++) {
        struct plugin *plugin = &plugins[i];
        if (deadline_of(plugin) > now)
            continue;
        if (plugin->state != DOWN && has_spoken(i))
            continue;
        if (plugin->state != DOWN)
            plugin_fail(i, plugin->state == GREETING ? "it did not greet in time" : "it did not answer in time");
        else if (!spawn(plugin))
            plugin->restart_at = now + longest_pause;
    }
}
