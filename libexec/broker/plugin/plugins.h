/* The programs that plugins.conf names: rtf-plugin(7). They decide; nothing they say is believed
 * before ledger.c has looked at it.
 *
 * Requests are written without waiting and answered in order. A plugin that does not answer within
 * its timeout, answers out of form or ends is killed, started again after a growing pause, and told
 * again what it had scheduled; whoever waited for it is told ANSWER_RESTARTING. */
#ifndef RTF_PLUGINS_H
#define RTF_PLUGINS_H

#include "plugin-lines.h"
#include "launcher.h"
#include "reservation.h"
#include "resource-cpu.h"

/* A message of a plugin, of which only the form has been checked. */
struct plugin_event {
    enum { PLUGIN_ANSWER, PLUGIN_UPDATE, PLUGIN_UP } kind;
    uint64_t id;   /* ANSWER: of the request */
    uint64_t task; /* UPDATE */
    enum answer answer;
    struct attributes plan; /* ANSWER ok, partial */
    struct cpu_move move;   /* UPDATE */
    uint64_t nearest;
    bool never; /* NO: no other task's end can change it */
    char reason[256];
};

/* Tells the launcher about the plugins, before the launcher is forked. `event` is called for each
 * message of a plugin. */
void plugins_prepare(struct identity_to_run_as as,
                     void (*event)(int plugin, const struct plugin_event *event));

/* Starts them all. False: who could not be, and why. Then all of them have greeted (1), not yet
 * (0), or one refuses to start (-1). */
bool plugins_start(char reason[static REASON_BYTES]);
int plugins_have_started(char reason[static REASON_BYTES]);

/* Each returns the id that the answer will carry. Nothing is sent before plugins_flush. */
/* owner: as in struct grant. most: what the rules allow, of the runtime or of the amount. */
uint64_t plugin_accept(int index, uint64_t task, uint64_t owner, const struct spec *spec,
                       uint64_t most, bool commit);
uint64_t plugin_schedule(int index, uint64_t task, const struct grant *grant);
uint64_t plugin_release(int index, uint64_t task);

/* It has been told that the task is gone, and has not answered yet: until it does, it may still
 * move it. */
bool plugin_is_releasing(int index, uint64_t task);

/* Another plugin's task on a shared CPU: came or changed; went when grant is NULL. */
void plugin_load(int index, uint64_t task, const struct grant *grant);

/* Another plugin is about to grant this: noted if the plugin's own promises hold beside it. */
uint64_t plugin_judge(int index, uint64_t task, const struct grant *offer);

void plugins_flush(void);

/* It lied: killed, to be started again. */
void plugin_fail(int index, const char *reason);

/* One of them has used so much CPU time. */
void plugin_used(const struct child_used *used);

/* It has greeted, and has not been killed since. */
bool plugin_is_serving(int index);

/* How long one of them has owed an answer, at most; ns. */
int64_t plugins_waited(int64_t now);

#endif
