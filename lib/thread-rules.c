#include "thread-rules.h"

#include <string.h>
#include <sysexits.h>

#include "command-line.h"
#include "spec-program.h"

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
                         "-f: leave out the key \"%s\": the command line already says which "
                         "process the rules are for",
                         *key);
    json_object_set_new(needs, "process", json_integer(process));
    if (json_object_get(needs, "lifetime") == NULL)
        json_object_set_new(needs, "lifetime", json_string("process"));
}

json_t *thread_rules_for_all(const json_t *needs, const char *pattern)
{
    const char *key;
    json_t *value;
    if (pattern != NULL && strpbrk(pattern, "[\\") != NULL)
        return NULL; /* these characters have no special meaning in a rule */
    json_object_foreach((json_t *)needs, key, value) if (!rule_may_state(key)) return NULL;
    json_t *rule = json_deep_copy(needs);
    json_object_set_new(rule, "name", json_string(pattern == NULL ? "*" : pattern));
    return json_pack("{s:[o]}", "threads", rule);
}
