/* The plugins are the programs that plugins.conf names; rtf-plugin(7) describes their protocol. A
 * plugin decides about a request, and ledger.c checks each decision.
 *
 * The broker writes requests without waiting, and a plugin answers in order. A plugin that does not
 * answer within its timeout, breaks the protocol or ends is killed. The plugin is started again
 * after a growing pause, and is told its scheduled tasks again. Requests that waited for the plugin
 * get ANSWER_RESTARTING. */
#ifndef RTF_PLUGINS_H
#define RTF_PLUGINS_H

#include "plugin-lines.h"
#include "launcher.h"
#include "reservation.h"
#include "resource-cpu.h"

/* A message of a plugin. Only the form of the message has been checked. */
struct plugin_event {
    enum { PLUGIN_ANSWER, PLUGIN_UPDATE, PLUGIN_UP } kind;
    uint64_t id;   /* PLUGIN_ANSWER: the id of the question */
    uint64_t task; /* UPDATE */
    enum answer answer;
    struct attributes plan; /* the plan of ANSWER_OK and ANSWER_PARTIAL */
    struct cpu_move move;   /* UPDATE */
    /* ANSWER_NO: the largest and the least value that the plugin would accept; 0: the plugin has
     * named none */
    uint64_t nearest, nearest_minimum;
    bool never; /* with ANSWER_NO: the plugin would still refuse if all other tasks ended */
    char reason[256];
};

/* Tells the launcher about the plugins, before the launcher is forked. `event` is called for each
 * message of a plugin. */
void plugins_prepare(struct identity_to_run_as as,
                     void (*event)(int plugin, const struct plugin_event *event));

/* plugins_start starts all plugins. False: *reason names the plugin that could not be started.
 * plugins_have_started: 1: all plugins have greeted; 0: some have not greeted yet; -1: one refuses
 * to start, and *reason says why. */
bool plugins_start(char reason[static REASON_BYTES]);
int plugins_have_started(char reason[static REASON_BYTES]);

/* Each of these functions returns the id that the answer will carry. Nothing is sent before
 * plugins_flush. */
/* owner: as in struct grant. most: the largest runtime or amount that the rules allow. commit: if
 * the plugin answers ok, it has taken the task into its books. */
uint64_t plugin_accept(int index, uint64_t task, uint64_t owner, const struct spec *spec,
                       uint64_t most, bool commit);
uint64_t plugin_schedule(int index, uint64_t task, const struct grant *grant);
uint64_t plugin_release(int index, uint64_t task);

/* True: the plugin has not answered yet to the release of this task, so it may still move the
 * task. */
bool plugin_is_releasing(int index, uint64_t task);

/* Tells the plugin that another plugin's task on a shared CPU is new or has changed. grant NULL:
 * the task has ended. */
void plugin_load(int index, uint64_t task, const struct grant *grant);

/* Asks whether the plugin's own promises hold beside a grant that another plugin is about to make.
 * If they do, the plugin notes the grant. */
uint64_t plugin_judge(int index, uint64_t task, const struct grant *offer);

void plugins_flush(void);

/* Kills the plugin, because it broke its promises or the protocol. The plugin is started again. */
void plugin_fail(int index, const char *reason);

/* Takes the launcher's report that a plugin has used CPU time. */
void plugin_used(const struct child_used *used);

/* True: the plugin has greeted, and has not been killed since. */
bool plugin_is_serving(int index);

/* Returns the longest time, ns, for which a plugin has owed an answer until now. */
int64_t plugins_waited(int64_t now);

#endif
