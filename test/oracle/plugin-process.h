/* A real plugin program at the other end of two pipes, as the broker has it. */
#ifndef RTF_ORACLE_PLUGIN_PROCESS_H
#define RTF_ORACLE_PLUGIN_PROCESS_H

#include "paragraph.h"
#include "simulate.h"

enum { WORDS_MAX = 8 };

struct plugin_process {
    const char *program;
    pid_t pid;
    int to, from;
    struct paragraph_input input;
    struct paragraph_output output;
    char reason[512];
};

/* Starts DIRECTORY/PROGRAM and takes its greeting. Ends this program if it cannot, like all that follows. */
void plugin_start(struct plugin_process *plugin, const char *directory, const char *program,
                  const char *const words[WORDS_MAX]);

/* Requests are collected until plugin_flush. Task numbers are places in the set, from 1 on. */
void plugin_ask_accept(struct plugin_process *plugin, int number, const struct task *task, bool commit);
void plugin_ask_schedule(struct plugin_process *plugin, int number, const struct task *task);
void plugin_ask_release(struct plugin_process *plugin, int number);
void plugin_ask_load(struct plugin_process *plugin, int number, const struct task *task, bool commit);
void plugin_ask_unload(struct plugin_process *plugin, int number);
void plugin_flush(struct plugin_process *plugin);

/* The answer to the oldest request: NULL if it is ok, else the reason, until another refusal. Updates and, after ok,
 * the plan for task `number` go to the set, if there is one. */
const char *plugin_answer(struct plugin_process *plugin, int number, struct task_set *set);

/* All tasks of a set one after another, and their release. Then NULL if all were granted, else the last reason. */
void plugin_ask_set(struct plugin_process *plugin, const struct task_set *set);
const char *plugin_hear_set(struct plugin_process *plugin, struct task_set *set);

/* Closes its input and waits until it has ended. */
void plugin_stop(struct plugin_process *plugin);

#endif
