#include <stdio.h>

#include "acl-rules.h"
#include "acl.h"
#include "event.h"
#include "units.h"

const char *format_sum(const struct rule *rule, uint64_t sum, char text[static UTILIZATION_TEXT])
{
    if (!rule_is_of_amounts(rule) && rule->property != MAX_USER_THREADS)
        return format_utilization(sum, text);
    snprintf(text, UTILIZATION_TEXT, "%llu", (unsigned long long)sum);
    return text;
}

static void report_exceeded(const struct rule *rule, uint64_t used, const char *whose)
{
    char text[UTILIZATION_TEXT];
    if (used > rule->value)
        event_broker("warning", "acl.conf:%d: %s: %s is in use by older grants%s, which stay",
                     rule->line, rule->text, format_sum(rule, used, text), whose);
}

void acl_report_exceeded(const struct acl *acl)
{
    for (int i = 0; i < acl->count; i++)
        if (acl->rules[i].property == MAX_UTILIZATION || acl->rules[i].property == MAX_AMOUNT)
            report_exceeded(&acl->rules[i], acl->rules[i].counter->used, "");
}

void acl_report_exceeded_by(struct acl *acl, const struct account *account)
{
    char whose[32];
    snprintf(whose, sizeof whose, " of uid %u", account->uid);
    for (int i = 0; account->uid != 0 && i < acl->count; i++)
        if (rule_is_of_each(&acl->rules[i]) && rule_is_of(&acl->rules[i], account))
            report_exceeded(&acl->rules[i],
                            acl_user_counter(acl, &acl->rules[i], account->uid)->used, whose);
}
