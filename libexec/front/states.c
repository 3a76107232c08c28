#include "states.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "units.h"

static const char *const names[STATES] = {
    [ASKED] = "asked",     [WAITING] = "waiting", [REFUSED] = "refused",   [DRY_RUN] = "dry-run",
    [GRANTED] = "granted", [PENDING] = "pending", [ATTACHED] = "attached", [DRIFTED] = "drifted"};

const char *state_name(enum state state)
{
    return names[state];
}

/* Returns 0 for a negative number: the owner of the directory may have written the verdict. */
static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value < 0 ? 0 : (uint64_t)value;
}

bool verdict_is_current(const json_t *verdict, const struct stat *spec)
{
    char changed[40];
    const json_t *judged = json_object_get(verdict, "spec");
    const char *text = client_string(judged, "changed");
    snprintf(changed, sizeof changed, "%lld.%09ld", (long long)spec->st_ctim.tv_sec,
             spec->st_ctim.tv_nsec);
    return text != NULL && strcmp(text, changed) == 0 && number(judged, "inode") == spec->st_ino;
}

struct shown_grant grant_shown(const json_t *grant)
{
    struct shown_grant shown = {.priority = (int)number(grant, "priority"),
                                .runtime = number(grant, "accepted_runtime"),
                                .period = number(grant, "period"),
                                .deadline = number(grant, "deadline")};
    const char *policy = client_string(grant, "policy"), *cpus = client_string(grant, "cpus");
    shown.is_known = policy != NULL && policy_from_name(policy, &shown.policy);
    shown.has_cpus = cpus != NULL && parse_cpus(cpus, &shown.cpus);
    shown.has_runtime = json_is_integer(json_object_get(grant, "runtime"));
    return shown;
}

bool has_drifted(const struct shown_grant *grant, pid_t tid)
{
    struct attributes now;
    if (!grant->is_known || !thread_attributes(tid, &now))
        return false;
    if (now.policy != grant->policy)
        return grant->policy == POLICY_DEADLINE || policy_is_real_time(now.policy) ||
               !grant->has_runtime;
    if (grant->has_cpus && !CPU_EQUAL(&grant->cpus, &now.cpus))
        return true; /* the owner has changed the thread's affinity */
    if (grant->policy == POLICY_DEADLINE)
        return now.runtime != grant->runtime || now.period != grant->period ||
               now.deadline != grant->deadline;
    return now.priority != grant->priority;
}

static enum state state_without_grant(const json_t *verdict)
{
    const char *result = client_string(verdict, "result");
    if (result != NULL && strcmp(result, "WAITING") == 0)
        return WAITING;
    return json_is_true(json_object_get(verdict, "dry_run")) && result != NULL &&
                   strcmp(result, "OK") == 0
               ? DRY_RUN
               : REFUSED;
}

enum state state_of(const json_t *verdict, bool is_current)
{
    const json_t *grant = json_object_get(verdict, "grant"),
                 *thread = json_object_get(verdict, "thread");
    const char *state = client_string(thread, "state");
    if (verdict == NULL || (!is_current && !json_is_object(grant)))
        return ASKED;
    if (!json_is_object(grant))
        return state_without_grant(verdict);
    if (state == NULL)
        return GRANTED;
    if (strcmp(state, "attached") != 0)
        return PENDING;
    const struct shown_grant shown = grant_shown(grant);
    return has_drifted(&shown, (pid_t)number(thread, "tid")) ? DRIFTED : ATTACHED;
}
