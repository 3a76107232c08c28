/* In the place of the programs that plugins.conf names: what they were told, in order. And of helper and readers, who are told nothing. */
#ifndef RTF_UNIT_TOLD_H
#define RTF_UNIT_TOLD_H

#include "plugins.h"

enum told { TOLD_SCHEDULE, TOLD_RELEASE, TOLD_LOAD, TOLD_JUDGE, TOLD_ACCEPT };

enum { TOLD_MAX = 64 };

struct told_plugin {
    enum told what;
    int plugin;
    uint64_t task;
    bool has_plan;
    struct attributes plan;
    struct spec spec; /* ACCEPT, and what follows */
    uint64_t max_runtime;
    bool commit;
};

extern struct told_plugin told[TOLD_MAX]; /* the first so many since told_count was set to 0 */
extern int told_count;

/* How often one was killed for what it said; unless it may lie, the test fails. */
extern int told_lies;
extern bool may_lie;

/* The lines of a plugins.conf, and what each of them says in its greeting. Once in a program. */
void plugins_are(const char *lines);
void plugin_says(const char *name, const char *tests, bool judges, bool tested);

#endif
