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

/* Starts DIRECTORY/PROGRAM and reads its greeting. This function, and all functions below, end this
 * program if they fail. */
void plugin_start(struct plugin_process *plugin, const char *directory, const char *program,
                  const char *const words[WORDS_MAX]);

/* Requests are collected until plugin_flush. Task numbers are places in the set, from 1 on. */
void plugin_ask_accept(struct plugin_process *plugin, int number, const struct task *task,
                       bool commit);
void plugin_ask_schedule(struct plugin_process *plugin, int number, const struct task *task);
void plugin_ask_release(struct plugin_process *plugin, int number);
void plugin_ask_load(struct plugin_process *plugin, int number, const struct task *task,
                     bool commit);
void plugin_ask_unload(struct plugin_process *plugin, int number);
void plugin_flush(struct plugin_process *plugin);

/* Reads the answer to the oldest request. Returns NULL if the answer is ok, else the reason, which
 * is valid until the next refusal. Writes updates and, after ok, the plan for task `number` to the
 * set, unless the set is NULL. */
const char *plugin_answer(struct plugin_process *plugin, int number, struct task_set *set);

/* Requests all tasks of a set one after another, and releases them. Returns NULL if all were
 * granted, else the last reason. */
void plugin_ask_set(struct plugin_process *plugin, const struct task_set *set);
const char *plugin_hear_set(struct plugin_process *plugin, struct task_set *set);

/* Closes the plugin's input and waits until the plugin has ended. */
void plugin_stop(struct plugin_process *plugin);

#endif
