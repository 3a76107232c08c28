#include "plugin-process.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static void spawn(struct plugin_process *plugin, char *const arguments[])
{
    int in[2], out[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        posix_spawn_file_actions_init(&actions) != 0)
        err(EX_OSERR, "pipe");
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    int failure = posix_spawn(&plugin->pid, arguments[0], &actions, NULL, arguments, environ);
    if (failure != 0)
        errx(EX_UNAVAILABLE, "%s: %s", arguments[0], strerror(failure));
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    plugin->to = in[1];
    plugin->from = out[0];
}

static struct paragraph take(struct plugin_process *plugin)
{
    struct paragraph paragraph;
    const char *why = "";
    int taken;
    while ((taken = paragraph_take(&plugin->input, &paragraph, &why)) == 0)
        if (paragraph_fill(&plugin->input, plugin->from) <= 0)
            errx(EX_PROTOCOL, "%s has ended", plugin->program);
    if (taken < 0)
        errx(EX_PROTOCOL, "%s: %s", plugin->program, why);
    return paragraph;
}

static bool says(const struct paragraph *paragraph, const char *key, const char *value)
{
    const char *said = paragraph_get(paragraph, key);
    return said != NULL && strcmp(said, value) == 0;
}

void plugin_start(struct plugin_process *plugin, const char *directory, const char *program,
                  const char *const words[WORDS_MAX])
{
    char *path, *arguments[WORDS_MAX + 3] = {NULL};
    if (asprintf(&path, "%s/%s", directory, program) < 0)
        err(EX_OSERR, "memory");
    static char name[] = "name=ORACLE";
    arguments[0] = path;
    arguments[1] = name;
    for (int i = 0; i < WORDS_MAX && words[i] != NULL; i++)
        if ((arguments[2 + i] = strdup(words[i])) == NULL)
            err(EX_OSERR, "memory");
    *plugin = (struct plugin_process){.program = program};
    spawn(plugin, arguments);
    for (int i = 2; arguments[i] != NULL; i++)
        free(arguments[i]);
    free(path);
    struct paragraph greeting = take(plugin);
    const char *reason = paragraph_get(&greeting, "reason");
    if (!says(&greeting, "answer", "ok"))
        errx(EX_CONFIG, "%s does not start: %s", program,
             reason == NULL ? "it says nothing" : reason);
}

/* ---- Requests ---- */

static void add_blocking(struct plugin_process *plugin, const struct task *task)
{
    if (task->blocking > 0)
        paragraph_add_number(&plugin->output, "blocking", (uint64_t)task->blocking);
}

static void begin(struct plugin_process *plugin, const char *op, int number)
{
    paragraph_add(&plugin->output, "op", op);
    paragraph_add_number(&plugin->output, "task", (uint64_t)number);
}

static void add_times(struct plugin_process *plugin, const struct task *task)
{
    paragraph_add_number(&plugin->output, "owner", (uint64_t)task->layer);
    paragraph_add_number(&plugin->output, "runtime", (uint64_t)task->runtime);
    paragraph_add_number(&plugin->output, "deadline", (uint64_t)task->deadline);
    paragraph_add_number(&plugin->output, "period", (uint64_t)task->period);
}

/* The CPU and priority of a task in a plan. */
static void add_place(struct plugin_process *plugin, const struct task *task)
{
    add_times(plugin, task);
    paragraph_add_number(&plugin->output, "cpus", (uint64_t)task->cpu);
    paragraph_add(&plugin->output, "policy", task->policy == POLICY_DEADLINE ? "deadline" : "fifo");
    if (task->policy == POLICY_FIFO)
        paragraph_add_number(&plugin->output, "priority", (uint64_t)task->priority);
}

static void end(struct plugin_process *plugin, bool commit)
{
    if (commit)
        paragraph_add(&plugin->output, "commit", "if-ok");
    paragraph_close(&plugin->output);
}

void plugin_ask_accept(struct plugin_process *plugin, int number, const struct task *task,
                       bool commit)
{
    begin(plugin, "accept", number);
    add_times(plugin, task);
    add_blocking(plugin, task);
    end(plugin, commit);
}

void plugin_ask_schedule(struct plugin_process *plugin, int number, const struct task *task)
{
    begin(plugin, "schedule", number);
    add_place(plugin, task);
    add_blocking(plugin, task);
    paragraph_add_number(&plugin->output, "accepted_runtime", (uint64_t)task->runtime);
    end(plugin, false);
}

void plugin_ask_release(struct plugin_process *plugin, int number)
{
    begin(plugin, "release", number);
    end(plugin, false);
}

void plugin_ask_load(struct plugin_process *plugin, int number, const struct task *task,
                     bool commit)
{
    begin(plugin, "load", number);
    add_place(plugin, task);
    end(plugin, commit);
}

void plugin_ask_unload(struct plugin_process *plugin, int number)
{
    begin(plugin, "load", number);
    end(plugin, false);
}

void plugin_flush(struct plugin_process *plugin)
{
    while (plugin->output.length > 0) {
        ssize_t written = write(plugin->to, plugin->output.data, plugin->output.length);
        if (written < 0)
            err(EX_PROTOCOL, "%s", plugin->program);
        paragraph_drop(&plugin->output, (size_t)written);
    }
}

/* ---- Answers ---- */

static void follow(const struct plugin_process *plugin, const struct paragraph *paragraph,
                   uint64_t number, struct task_set *set)
{
    uint64_t value;
    if (set == NULL)
        return;
    if (number == 0 || number > (uint64_t)set->count)
        errx(EX_PROTOCOL, "%s speaks of a task %" PRIu64 " that it was not asked about",
             plugin->program, number);
    struct task *task = &set->task[number - 1];
    if (paragraph_get_number(paragraph, "priority", 99, &value) > 0)
        task->priority = (int)value;
    if (paragraph_get_number(paragraph, "cpus", INT32_MAX, &value) > 0)
        task->cpu = (int)value;
    if (paragraph_get(paragraph, "policy") != NULL)
        task->policy = says(paragraph, "policy", "deadline") ? POLICY_DEADLINE : POLICY_FIFO;
}

const char *plugin_answer(struct plugin_process *plugin, int number, struct task_set *set)
{
    for (;;) {
        struct paragraph paragraph = take(plugin);
        uint64_t moved;
        if (paragraph_get_number(&paragraph, "update", INT32_MAX, &moved) > 0)
            follow(plugin, &paragraph, moved, set);
        else if (says(&paragraph, "answer", "ok")) {
            follow(plugin, &paragraph, (uint64_t)number, set);
            return NULL;
        } else {
            const char *reason = paragraph_get(&paragraph, "reason");
            snprintf(plugin->reason, sizeof plugin->reason, "%s", reason == NULL ? "" : reason);
            return plugin->reason;
        }
    }
}

/* ---- Sets ---- */

void plugin_ask_set(struct plugin_process *plugin, const struct task_set *set)
{
    for (int i = 0; i < set->count; i++)
        plugin_ask_accept(plugin, i + 1, &set->task[i], true);
    for (int i = 0; i < set->count; i++)
        plugin_ask_release(plugin, i + 1);
}

const char *plugin_hear_set(struct plugin_process *plugin, struct task_set *set)
{
    const char *refusal = NULL;
    for (int i = 0; i < set->count; i++) {
        const char *reason = plugin_answer(plugin, i + 1, set);
        refusal = reason == NULL ? refusal : reason;
    }
    for (int i = 0; i < set->count; i++)
        plugin_answer(plugin, i + 1, NULL);
    return refusal;
}

void plugin_stop(struct plugin_process *plugin)
{
    close(plugin->to);
    close(plugin->from);
    waitpid(plugin->pid, NULL, 0);
    paragraph_input_free(&plugin->input);
    paragraph_output_free(&plugin->output);
}
