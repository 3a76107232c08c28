/* Replaces the programs of plugins.conf, and records the messages to them in their order. Also
 * replaces the helper and the readers, which get no message. */
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
    struct spec spec; /* the spec of an ACCEPT and of the messages after it */
    uint64_t max_runtime;
    bool commit;
};

/* the first TOLD_MAX messages since told_count was set to 0 */
extern struct told_plugin told[TOLD_MAX];
extern int told_count;

/* the least runtime that the guard can enforce, us; 0: it enforces any runtime */
extern uint64_t guarded_from;

/* How often a plugin was killed because of its answer. The test fails at such an answer unless
 * may_lie. */
extern int told_lies;
extern bool may_lie;

/* plugins_are sets the lines of plugins.conf; call it only once in a program. plugin_says sets the
 * greeting of one plugin. */
void plugins_are(const char *lines);
void plugin_says(const char *name, const char *tests, bool judges, bool tested);

#endif
