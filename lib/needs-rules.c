#include "needs-rules.h"

#include <string.h>
#include <sysexits.h>

#include "command-line.h"
#include "program-file.h"

bool needs_rules_are_in(const json_t *needs)
{
    return json_object_get(needs, "threads") != NULL;
}

void needs_rules_name_process(json_t *needs, json_t *process)
{
    static const char *const others[] = {"process", "program", "cgroup", NULL};
    for (const char *const *key = others; *key != NULL; key++)
        if (json_object_get(needs, *key) != NULL)
            command_fail(EX_DATAERR,
                         "-f: leave out the key \"%s\": the command line already says which "
                         "process the rules are for",
                         *key);
    json_object_set_new(needs, "process", process);
    if (json_object_get(needs, "lifetime") == NULL)
        json_object_set_new(needs, "lifetime", json_string("process"));
}

json_t *needs_rules_for_all(const json_t *needs, const char *pattern)
{
    const char *key;
    json_t *value;
    if (pattern != NULL && strpbrk(pattern, "[\\") != NULL)
        /* [ and \ are special in a pattern of glob(7), but not in a pattern of a rule */
        return NULL;
    json_t *rule = json_object(), *rules = json_pack("{s:[O]}", "threads", rule);
    bool good = true, states_needs = false;
    json_object_foreach((json_t *)needs, key, value)
    {
        good = good && (rule_may_state(key) || program_may_state(key));
        states_needs = states_needs || (rule_may_state(key) && strcmp(key, "comment") != 0);
        json_object_set(program_may_state(key) ? rules : rule, key, value);
    }
    json_object_set_new(rule, "name", json_string(pattern == NULL ? "*" : pattern));
    json_decref(rule);
    if (good && states_needs)
        return rules;
    json_decref(rules);
    return NULL;
}
