#include "thread-rules.h"

#include <stdlib.h>
#include <sysexits.h>

#include "command-line.h"

bool thread_rules_are_in(const json_t *needs)
{
    return json_object_get(needs, "threads") != NULL;
}

void thread_rules_name_process(json_t *needs, pid_t process)
{
    static const char *const others[] = {"process", "program", NULL};
    for (const char *const *key = others; *key != NULL; key++)
        if (json_object_get(needs, *key) != NULL)
            command_fail(EX_DATAERR,
                         "-f: the key \"%s\" says whose threads these are, and so does the "
                         "command line: leave the key out",
                         *key);
    json_object_set_new(needs, "process", json_integer(process));
}

json_t *thread_rules_for_all(const json_t *needs, const char *pattern, pid_t process)
{
    json_t *rule = json_pack("{s:s}", "name", pattern == NULL ? "*" : pattern),
           *rules = json_pack("{s:i, s:[O]}", "process", (int)process, "threads", rule);
    if (rules == NULL || json_object_update(rule, (json_t *)needs) != 0)
        abort();
    json_decref(rule);
    return rules;
}
