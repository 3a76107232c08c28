/* Replaces the programs of plugins.conf, and records the messages to them, in order. Also replaces
 * helper and readers, which get no message. */
#ifndef RTF_UNIT_TOLD_H
#define RTF_UNIT_TOLD_H

#include "plugins.h"

enum told { TOLD_SCHEDULE, TOLD_RELEASE, TOLD_LOAD, TOLD_JUDGE, TOLD_ACCEPT };

enum { TOLD_MAX = 64 };

struct told_plugin {
    enum told what;
    int plugin;
    uint64_t task, owner;
    bool has_plan;
    struct attributes plan;
    struct spec spec; /* of ACCEPT and the messages after it */
    uint64_t max_runtime;
    bool commit;
};

extern struct told_plugin told[TOLD_MAX]; /* the first so many since told_count was set to 0 */
extern int told_count;

/* The guard enforces no smaller runtimes, us; 0: it enforces any runtime. */
extern uint64_t guarded_from;

/* How often a plugin was killed for an answer. The test fails unless the plugin may lie. */
extern int told_lies;
extern bool may_lie;

/* Sets the lines of plugins.conf, and each plugin's greeting. Once in a program. */
void plugins_are(const char *lines);
void plugin_says(const char *name, const char *tests, bool judges, bool tested);

#endif
