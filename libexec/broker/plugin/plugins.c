#include "plugins.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "config-lines.h"
#include "event.h"
#include "side-by-side.h"
#include "supervise.h"
#include "units.h"

enum { PROTOCOL = 1 };
/* the message in plugin_on_gone has this time, too: "5 s" */
static const int64_t greeting_within = INT64_C(5000000000);
static const int64_t first_pause = INT64_C(100000000), longest_pause = INT64_C(10000000000),
                     good_behaviour = INT64_C(60000000000);

/* tidying: the CPU time, ns, that a plugin may use after each answer, to tidy up. unasked_limit: a
 * plugin that has used this much CPU time without a question is killed. */
static const int64_t tidying = INT64_C(100000), unasked_limit = INT64_C(2) * CHILD_USES;

enum op { OP_ACCEPT, OP_SCHEDULE, OP_RELEASE, OP_LOAD };

struct pending {
    STAILQ_ENTRY(pending) next;
    uint64_t id, task;
    enum op op;
};
STAILQ_HEAD(pending_list, pending);

struct plugin {
    struct program_description is;
    struct program program;
    /* lost: questions without an answer when the plugin died, or asked while it was not running */
    struct pending_list pending, lost;
    /* set while `lost` has questions: the timer answers these questions, so that a caller gets the
     * answer only after its call has returned */
    struct timer loss;
    /* the plugin owes an answer since this time: its start, the sending of a question, or its last
     * message; INT64_MAX: the question is still to be sent */
    int64_t since;
    bool unsent;
    /* CPU time of the plugin, ns. first_start: used between the first start and the greeting.
     * this_start: used between the present start and the greeting. asked: used for the questions
     * since the last report of the launcher. unasked: used without a question. */
    int64_t first_start, this_start, asked, unasked;
    /* CLOCK_MONOTONIC; greeted: when the plugin greeted; counted: `asked` counts questions until
     * this time */
    int64_t greeted, counted;
    int64_t slow_window;
    unsigned slow_count;
};

#define wrong(reason, line, ...) config_lines_wrong(reason, "plugins.conf", line, __VA_ARGS__)

static struct {
    struct plugin plugin[PLUGINS_MAX];
    uint64_t last_id;
    char no_start[REASON_BYTES]; /* why the broker cannot start; "": nothing prevents its start */
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

static bool plugin_serves(const struct plugin *plugin)
{
    return plugin->program.state == PROGRAM_SERVING;
}

/* Begins the time within which the plugin has to answer. */
static void plugin_expect(struct plugin *plugin)
{
    const bool owes = plugin->since != INT64_MAX && !STAILQ_EMPTY(&plugin->pending);
    supervise_expect(&plugin->program, owes ? line_of(plugin)->timeout : INT64_MAX);
}

/* ---- starting and ending ---- */

static void plugin_prepare(int index, struct identity_to_run_as as)
{
    struct plugin *plugin = &plugins.plugin[index];
    const struct plugin_line *line = plugin_line(index);
    char name[64], cpus[CPU_LIST_TEXT + 8], list[CPU_LIST_TEXT], priority[32],
        *argv[CONFIG_WORDS + 4], *words;
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
    supervise_prepare(&plugin->program, &plugin->is, argv, as);
    free(words);
}

static void plugin_on_start(struct program *program, bool again)
{
    struct plugin *plugin = container_of(program, struct plugin, program);
    (void)again;
    plugin->since = program->started;
    plugin->greeted = INT64_MAX;
    plugin->this_start = plugin->asked = plugin->unasked = 0;
}

/* Notes why the plugin did not greet, which keeps the broker from starting. The first reason is
 * kept. After the broker's start, only the log tells the reason. */
static void does_not_start(const struct plugin *plugin, const char *how, const char *why)
{
    if (plugin->greeted == INT64_MAX && plugins.no_start[0] == '\0')
        (void)wrong(plugins.no_start, line_of(plugin)->line, "the plugin %s %s%.250s",
                    line_of(plugin)->name, how, why);
}

static bool says(const struct paragraph *greeting, const char *key, const char *value)
{
    const char *said = paragraph_get(greeting, key);
    return said != NULL && strcmp(said, value) == 0;
}

static bool greet(struct plugin *plugin, const struct paragraph *greeting, char *why, size_t size)
{
    const char *answer = paragraph_get(greeting, "answer"),
               *tests = paragraph_get(greeting, "tests");
    const char *reason = paragraph_get(greeting, "reason");
    uint64_t protocol;
    if (paragraph_get_number(greeting, "protocol", 1000, &protocol) != 1 || answer == NULL) {
        snprintf(why, size, "its greeting lacks protocol= or answer=");
        return false;
    }
    if (strcmp(answer, "ok") != 0 || protocol != PROTOCOL) {
        snprintf(why, size, "%.200s",
                 strcmp(answer, "ok") == 0 ? "it speaks another protocol than 1"
                 : reason == NULL          ? "it gave no reason"
                                           : reason);
        return false;
    }
    if (!plugin_has_greeted(index_of(plugin), tests == NULL ? "none" : tests,
                            says(greeting, "judges", "load"), says(greeting, "grants", "tested"))) {
        snprintf(why, size, "its greeting differs from the greeting at the start");
        return false;
    }
    plugin->greeted = monotonic_now();
    supervise_greeted(&plugin->program);
    return true;
}

bool plugins_start(char reason[static REASON_BYTES])
{
    for (int i = 0; i < plugins_count(); i++)
        if (!supervise_start(&plugins.plugin[i].program, -1, -1))
            return wrong(reason, plugin_line(i)->line, "%.200s: %s", plugin_line(i)->program,
                         strerror(errno));
    return true;
}

int plugins_have_started(char reason[static REASON_BYTES])
{
    int started = 0;
    if (plugins.no_start[0] != '\0') {
        snprintf(reason, REASON_BYTES, "%s", plugins.no_start);
        return -1;
    }
    while (started < plugins_count() && plugin_is_serving(started))
        started++;
    return started < plugins_count() ? 0 : plugins_check_neighbours(reason) ? 1 : -1;
}

static void plugin_tell_loss(struct plugin *plugin)
{
    if (!STAILQ_EMPTY(&plugin->lost))
        timer_set(&plugin->loss, 0);
}

static void plugin_on_gone(struct program *program, const char *why)
{
    struct plugin *plugin = container_of(program, struct plugin, program);
    if (strcmp(why, SUPERVISE_NO_GREETING) == 0)
        does_not_start(plugin, "did not greet within 5 s (does it flush its output?)", "");
    else
        does_not_start(plugin, "did not greet: ", why);
    plugin->unsent = false;
    STAILQ_CONCAT(&plugin->lost, &plugin->pending);
    plugin_tell_loss(plugin);
}

void plugin_fail(int index, const char *reason)
{
    supervise_fail(&plugins.plugin[index].program, reason);
}

/* ---- asking ---- */

static struct paragraph_output *plugin_message(struct plugin *plugin, enum op op, uint64_t task)
{
    static const char *const names[] = {"accept", "schedule", "release", "load"};
    struct paragraph_output *output = &plugin->program.process.output;
    struct pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL)
        abort();
    pending->id = ++plugins.last_id;
    pending->op = op;
    pending->task = task;
    if (!plugin_serves(plugin)) {
        /* reassign_feed sends this task to the plugin when it runs again; a caller that waits for
         * the answer gets ANSWER_RESTARTING soon */
        STAILQ_INSERT_TAIL(&plugin->lost, pending, next);
        plugin_tell_loss(plugin);
        return NULL;
    }
    if (STAILQ_EMPTY(&plugin->pending))
        /* the plugin's time to answer begins when it gets the question */
        plugin->since = INT64_MAX;
    STAILQ_INSERT_TAIL(&plugin->pending, pending, next);
    plugin->unsent = true;
    paragraph_add(output, "op", names[op]);
    paragraph_add_number(output, "id", pending->id);
    paragraph_add_number(output, "task", task);
    return output;
}

uint64_t plugin_accept(int index, uint64_t task, uint64_t owner, const struct spec *spec,
                       uint64_t most, bool commit)
{
    struct paragraph_output *output = plugin_message(&plugins.plugin[index], OP_ACCEPT, task);
    if (output == NULL)
        return plugins.last_id;
    paragraph_add_number(output, "owner", owner);
    resource_kind_of(index)->ask(output, index, spec, most);
    if (commit)
        paragraph_add(output, "commit", "if-ok");
    paragraph_close(output);
    return plugins.last_id;
}

uint64_t plugin_schedule(int index, uint64_t task, const struct grant *grant)
{
    struct paragraph_output *output = plugin_message(&plugins.plugin[index], OP_SCHEDULE, task);
    if (output == NULL)
        return plugins.last_id;
    paragraph_add_number(output, "owner", grant->owner);
    resource_kind_of(index)->tell(output, index, grant);
    paragraph_close(output);
    return plugins.last_id;
}

uint64_t plugin_release(int index, uint64_t task)
{
    struct paragraph_output *output = plugin_message(&plugins.plugin[index], OP_RELEASE, task);
    if (output != NULL)
        paragraph_close(output);
    return plugins.last_id;
}

bool plugin_is_releasing(int index, uint64_t task)
{
    const struct pending *pending;
    STAILQ_FOREACH (pending, &plugins.plugin[index].pending, next)
        if (pending->op == OP_RELEASE && pending->task == task)
            return true;
    return false;
}

void plugin_load(int index, uint64_t task, const struct grant *grant)
{
    struct paragraph_output *output = plugin_message(&plugins.plugin[index], OP_LOAD, task);
    if (output == NULL)
        return;
    if (grant != NULL) {
        paragraph_add_number(output, "owner", grant->owner);
        cpu_tell_load(output, &grant->plan);
    }
    paragraph_close(output);
}

uint64_t plugin_judge(int index, uint64_t task, const struct grant *offer)
{
    struct paragraph_output *output = plugin_message(&plugins.plugin[index], OP_LOAD, task);
    if (output == NULL)
        return plugins.last_id;
    paragraph_add_number(output, "owner", offer->owner);
    cpu_tell_load(output, &offer->plan);
    cpu_tell_timer(output, index);
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
            plugin_expect(plugin);
        }
        if (!coprocess_flush(&plugin->program.process))
            plugin_fail(i, "it does not read its input");
    }
}

/* ---- hearing ---- */

static bool take_update(const struct paragraph *said, struct plugin_event *event)
{
    event->kind = PLUGIN_UPDATE;
    return paragraph_get_number(said, "update", UINT64_MAX, &event->task) == 1 &&
           cpu_take_move(said, &event->move);
}

static void count_asked(struct plugin *plugin, int64_t now)
{
    if (plugin->since == INT64_MAX) /* the plugin has answered a question that it has not got yet */
        plugin->since = now;
    plugin->asked += now - (plugin->since > plugin->counted ? plugin->since : plugin->counted);
    plugin->counted = now;
}

/* The plugin has answered a question: counts the time that it has worked since plugin->since. */
static void worked(struct plugin *plugin)
{
    char reason[160];
    const int64_t now = monotonic_now(), timeout = line_of(plugin)->timeout;
    count_asked(plugin, now);
    const int64_t took = now - plugin->since;
    plugin->asked += tidying;
    plugin->since = now;
    plugin_expect(plugin);
    if (took <= timeout / 2)
        return;
    snprintf(
        reason, sizeof reason,
        "its answer took %lld ms, and all other requests waited; the plugin is killed after %lld ms (timeout=)",
        (long long)(took / 1000000), (long long)(timeout / 1000000));
    struct event slow = {.stage = "plugin",
                         .decision = "warning",
                         .reason = reason,
                         .plugin = line_of(plugin)->name,
                         .microseconds = -1};
    (void)event_write_rarely(&slow, &plugin->slow_window, &plugin->slow_count);
}

static bool take_answer(struct plugin *plugin, const struct paragraph *said,
                        struct plugin_event *event)
{
    const char *answer = paragraph_get(said, "answer"), *reason = paragraph_get(said, "reason");
    struct pending *pending = STAILQ_FIRST(&plugin->pending);
    uint64_t id;
    int echoed = paragraph_get_number(said, "id", UINT64_MAX, &id);
    if (answer == NULL || pending == NULL || echoed < 0 || (echoed == 1 && id != pending->id) ||
        paragraph_get_number(said, "nearest", TIME_MAX, &event->nearest) < 0 ||
        paragraph_get_number(said, "nearest_minimum", TIME_MAX, &event->nearest_minimum) < 0)
        return false;
    event->kind = PLUGIN_ANSWER;
    event->id = pending->id;
    const char *retry = paragraph_get(said, "retry");
    event->never = retry != NULL && strcmp(retry, "never") == 0;
    snprintf(event->reason, sizeof event->reason, "%s", reason == NULL ? "" : reason);
    /* a claim on another resource is granted as a whole or not at all */
    const bool in_part = pending->op == OP_ACCEPT && line_of(plugin)->resource == RESOURCE_CPU;
    bool good = true;
    if (strcmp(answer, "no") == 0)
        event->answer = ANSWER_NO;
    else if (strcmp(answer, "ok") == 0 || (in_part && strcmp(answer, "partial") == 0)) {
        event->answer = answer[0] == 'o' ? ANSWER_OK : ANSWER_PARTIAL;
        good = pending->op != OP_ACCEPT ||
               resource_kind_of(index_of(plugin))->take_plan(said, &event->plan);
    } else
        good = false;
    if (good) {
        STAILQ_REMOVE_HEAD(&plugin->pending, next);
        free(pending);
        worked(plugin); /* updates (take_update) do not count as answers, however many come */
    }
    return good;
}

static bool take_said(struct plugin *plugin, const struct paragraph *said,
                      struct plugin_event *event, char *why, size_t size)
{
    if (plugin->program.state == PROGRAM_STARTING) {
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

static bool plugin_on_message(struct program *program, const struct paragraph *said, int *fd)
{
    struct plugin *plugin = container_of(program, struct plugin, program);
    struct plugin_event event = {0};
    char why[256] = "";
    (void)fd;
    if (take_said(plugin, said, &event, why, sizeof why))
        plugins.tell(index_of(plugin), &event);
    else
        supervise_fail(program, why[0] != '\0' ? why : "its answer is not valid by rtf-plugin(7)");
    return true;
}

/* Answers the lost questions with ANSWER_RESTARTING. plugins.tell drops the answers for which no
 * caller waits. */
static void loss_is_due(struct timer *timer)
{
    struct plugin *plugin = container_of(timer, struct plugin, loss);
    struct pending *pending;
    while ((pending = STAILQ_FIRST(&plugin->lost)) != NULL) {
        struct plugin_event event = {.kind = PLUGIN_ANSWER,
                                     .id = pending->id,
                                     .answer = ANSWER_RESTARTING};
        snprintf(event.reason, sizeof event.reason, "the plugin is being restarted");
        STAILQ_REMOVE_HEAD(&plugin->lost, next);
        free(pending);
        plugins.tell(index_of(plugin), &event);
    }
}

void plugins_prepare(struct identity_to_run_as as,
                     void (*event)(int plugin, const struct plugin_event *event))
{
    plugins.tell = event;
    for (int i = 0; i < plugins_count(); i++) {
        struct plugin *plugin = &plugins.plugin[i];
        *plugin = (struct plugin){.loss.due = loss_is_due,
                                  .is = {.name = plugin_line(i)->name,
                                         .is_plugin = true,
                                         .kind = CHILD_PLUGIN,
                                         .talk = COPROCESS_PIPES,
                                         .first_pause = first_pause,
                                         .longest_pause = longest_pause,
                                         .behaves_after = good_behaviour,
                                         .greets_within = greeting_within,
                                         .on_start = plugin_on_start,
                                         .on_message = plugin_on_message,
                                         .on_gone = plugin_on_gone}};
        STAILQ_INIT(&plugin->pending);
        STAILQ_INIT(&plugin->lost);
        plugin_prepare(i, as);
    }
}

/* ---- CPU time that plugins use ---- */

/* Counts the CPU time that a plugin uses before its greeting. A later start should use as much CPU
 * time as the first start. A plugin that uses more than twice this time plus 40 ms seems to loop,
 * and is killed. */
static void used_to_start(int index, int64_t nanoseconds)
{
    char reason[160];
    struct plugin *plugin = &plugins.plugin[index];
    const bool first = !plugin->program.has_failed;
    if (first)
        plugin->first_start += nanoseconds;
    plugin->this_start += nanoseconds;
    if (first || plugin->program.state != PROGRAM_STARTING ||
        plugin->this_start <= plugin->first_start * 2 + unasked_limit * 2)
        return;
    snprintf(
        reason, sizeof reason,
        "it used %lld ms of CPU time and has not greeted yet; at the first start it needed less than %lld ms",
        (long long)(plugin->this_start / 1000000),
        (long long)((plugin->first_start + CHILD_USES) / 1000000));
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
    snprintf(
        reason, sizeof reason,
        "it used %lld ms of CPU time, at a priority above all grants, while the broker asked nothing",
        (long long)(plugin->unasked / 1000000));
    plugin_fail(index, reason);
}

void plugin_used(const struct child_used *used)
{
    int index = 0;
    while (index < plugins_count() - 1 && plugins.plugin[index].program.child != used->child)
        index++;
    const struct plugin *plugin = &plugins.plugin[index];
    if (plugin->program.child != used->child || !supervise_runs(&plugin->program) ||
        used->at < plugin->program.started)
        return;
    /* The report comes later than the use of the CPU time. The time in the report tells whether the
     * plugin had greeted before the use. */
    if (used->at - used->nanoseconds < plugin->greeted)
        used_to_start(index, used->nanoseconds);
    else
        used_to_serve(index, used->nanoseconds);
}

bool plugin_is_serving(int index)
{
    return plugin_serves(&plugins.plugin[index]);
}

int64_t plugins_waited(int64_t now)
{
    int64_t longest = 0;
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin *plugin = &plugins.plugin[i];
        if (supervise_runs(&plugin->program) && !STAILQ_EMPTY(&plugin->pending) &&
            now - plugin->since > longest)
            longest = now - plugin->since;
    }
    return longest;
}
