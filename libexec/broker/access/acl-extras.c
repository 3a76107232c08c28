#include <stdio.h>

#include "acl-rules.h"
#include "acl.h"
#include "spec.h"

bool rule_is_of_extras(const struct rule *rule)
{
    return rule->property == MAX_LOCK_MEMORY || rule->property == MAX_USER_LOCK_MEMORY ||
           rule->property == MIN_CPU_LATENCY || rule->property == MIN_NICE ||
           rule->property == MAX_CLAMP;
}

/* The keys of a spec that need a rule: a user may write such a key only if a rule allows the
 * key. */
enum opened { LOCK_MEMORY, CPU_LATENCY, NICE, CLAMP, OPENED };

static enum opened opened_by(const struct rule *rule)
{
    return rule->property == MIN_CPU_LATENCY ? CPU_LATENCY
           : rule->property == MIN_NICE      ? NICE
           : rule->property == MAX_CLAMP     ? CLAMP
                                             : LOCK_MEMORY;
}

static bool is_asked(const struct extras *extras, enum opened what)
{
    switch (what) {
    case LOCK_MEMORY: return extras->lock_memory != 0;
    case CPU_LATENCY: return extras->cpu_latency != 0;
    case NICE: return extras->nice != 0;
    case CLAMP: return extras->clamp_min != 0 || extras->clamp_max != 0;
    case OPENED: break;
    }
    return false;
}

static void tell(struct refusal *refusal, const char *unit, uint64_t asked, uint64_t available)
{
    if (refusal->asked[0] != '\0')
        return;
    snprintf(refusal->asked, sizeof refusal->asked, "%llu%s", (unsigned long long)asked, unit);
    snprintf(refusal->available, sizeof refusal->available, "%llu%s", (unsigned long long)available,
             unit);
}

static void judge_memory(struct question *question, const struct rule *rule, uint64_t asked,
                         uint64_t used)
{
    const uint64_t left = used >= rule->value ? 0 : rule->value - used;
    if (asked <= left)
        return;
    rule_denies(question, rule, asked <= rule->value ? WHEN_FREED : NONE,
                used == 0 ? "lock_memory %lluB asked" : "lock_memory %lluB asked, %lluB used",
                (unsigned long long)asked, (unsigned long long)used);
    tell(question->refusal, "B", asked, left);
}

static void judge_latency(struct question *question, const struct rule *rule, uint64_t asked)
{
    if (asked >= rule->value)
        return;
    rule_denies(question, rule, NONE, "cpu_latency %lluus asked", (unsigned long long)asked);
    tell(question->refusal, "us", asked, rule->value);
}

static void judge_nice(struct question *question, const struct rule *rule, int asked)
{
    if ((uint64_t)-asked <= rule->value)
        return;
    rule_denies(question, rule, NONE, "nice %d asked", asked);
    if (question->refusal->asked[0] != '\0')
        return;
    snprintf(question->refusal->asked, sizeof question->refusal->asked, "%d", asked);
    snprintf(question->refusal->available, sizeof question->refusal->available, "%d",
             -(int)rule->value);
}

/* Judges only the minimum of a utilization clamp: a maximum restricts only the thread that has
 * it, so no rule has to bound a maximum. */
static void judge_clamp(struct question *question, const struct rule *rule, int least)
{
    const uint64_t asked = least == 0 ? 0 : (uint64_t)least - 1;
    if (asked <= rule->value)
        return;
    rule_denies(question, rule, NONE, "clamp min %llu asked", (unsigned long long)asked);
    tell(question->refusal, "", asked, rule->value);
}

static void judge_extras(struct question *question, const struct rule *rule,
                         const struct extras *extras, uint64_t locked)
{
    switch (opened_by(rule)) {
    case LOCK_MEMORY:
        judge_memory(question, rule, extras->lock_memory,
                     rule->property == MAX_USER_LOCK_MEMORY ? locked : 0);
        break;
    case CPU_LATENCY: judge_latency(question, rule, extras->cpu_latency); break;
    case NICE: judge_nice(question, rule, extras->nice); break;
    case CLAMP: judge_clamp(question, rule, extras->clamp_min); break;
    case OPENED: break;
    }
}

bool acl_extras_pass(struct acl *acl, const struct account *account, const struct extras *extras,
                     uint64_t locked, struct refusal *refusal, char reason[static REASON_BYTES])
{
    static const char *const what[OPENED] = {
        [LOCK_MEMORY] = "allows lock_memory (max_lock_memory or max_user_lock_memory)",
        [CPU_LATENCY] = "allows cpu_latency (min_cpu_latency)",
        [NICE] = "allows nice (min_nice)",
        [CLAMP] = "allows clamp (max_clamp)"};
    struct question question = {.acl = acl,
                                .account = account,
                                .refusal = refusal,
                                .reason = reason};
    bool opens[OPENED] = {false};
    for (int i = 0; account->uid != 0 && i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if (!rule_is_of_extras(rule) || !rule_is_of(rule, account) ||
            !is_asked(extras, opened_by(rule)))
            continue;
        opens[opened_by(rule)] = true;
        judge_extras(&question, rule, extras, locked);
    }
    for (enum opened key = 0; account->uid != 0 && key < OPENED; key++)
        if (is_asked(extras, key) && !opens[key])
            deny_by_default(&question, "any plugin", what[key]);
    refusal->never = question.never;
    return !question.denied;
}

bool acl_may_trace(const struct acl *acl, const struct account *account,
                   char reason[static REASON_BYTES])
{
    bool opens = account->uid == 0;
    for (int i = 0; account->uid != 0 && i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if (rule->property != TRACE || !rule_is_of(rule, account))
            continue;
        opens = rule->value != 0;
        snprintf(reason, REASON_BYTES, "acl.conf:%d: %s", rule->line, rule->text);
        if (!opens)
            return false;
    }
    if (!opens)
        snprintf(reason, REASON_BYTES, "no rule in acl.conf allows you to trace (trace true)");
    return opens;
}
