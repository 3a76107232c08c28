#include <jansson.h>

#include "acl-rules.h"
#include "acl.h"
#include "event.h"
#include "plugin-lines.h"
#include "units.h"

static json_t *sum_or_null(const struct rule *rule, uint64_t sum)
{
    char text[UTILIZATION_TEXT];
    return rule_opens(rule) ? json_string(format_utilization(sum, text)) : json_null();
}

static json_t *judged(struct question *question, const struct rule *rule)
{
    rule_judge(question, rule);
    return json_pack("{s:s, s:i, s:s, s:o, s:o, s:s}", "plugin",
                     plugin_line(question->plugin)->name, "line", rule->line, "text", rule->text,
                     "used", sum_or_null(rule, rule_opens(rule) ? rule_used(question, rule) : 0),
                     "asked",
                     sum_or_null(rule, acl_weight(question->spec, question->spec->runtime)), "says",
                     question->denied   ? "refuses"
                     : rule_opens(rule) ? "opens"
                                        : "passes");
}

/* Judges each rule by itself: the list shows all rules that refuse, and the refusal shows only the
 * first. */
void acl_tell(struct acl *acl, const struct account *account, int plugin, const struct spec *spec,
              const struct grant *own, json_t *list)
{
    const struct grant *const owns[2] = {own, NULL};
    for (int i = 0; account->uid != 0 && i < acl->count && json_array_size(list) < RULES_TOLD;
         i++) {
        char reason[REASON_BYTES];
        struct refusal refusal = {0};
        struct question question = {.acl = acl,
                                    .account = account,
                                    .plugin = plugin,
                                    .spec = spec,
                                    .own = owns,
                                    .ceiling = UINT64_MAX,
                                    .refusal = &refusal,
                                    .reason = reason};
        if (rule_matches(&acl->rules[i], account, plugin))
            (void)json_array_append_new(list, judged(&question, &acl->rules[i]));
    }
}

/* ---- sums above their bounds ---- */

static void report_overdrawn(const struct rule *rule, uint64_t used, const char *whose)
{
    char text[UTILIZATION_TEXT];
    if (rule_is_of_amounts(rule))
        snprintf(text, sizeof text, "%llu", (unsigned long long)used);
    else
        format_utilization(used, text);
    if (used > rule->value)
        event_broker("warning", "acl.conf:%d: %s: %s is in use by older grants%s, which stay",
                     rule->line, rule->text, text, whose);
}

void acl_report_overdrawn(const struct acl *acl)
{
    for (int i = 0; i < acl->count; i++)
        if (acl->rules[i].property == MAX_UTILIZATION || acl->rules[i].property == MAX_AMOUNT)
            report_overdrawn(&acl->rules[i], acl->rules[i].counter->used, "");
}

void acl_report_overdrawn_by(struct acl *acl, const struct account *account)
{
    char whose[32];
    snprintf(whose, sizeof whose, " of uid %u", account->uid);
    for (int i = 0; account->uid != 0 && i < acl->count; i++)
        if ((acl->rules[i].property == MAX_USER_UTILIZATION ||
             acl->rules[i].property == MAX_USER_AMOUNT) &&
            rule_is_of(&acl->rules[i], account))
            report_overdrawn(&acl->rules[i],
                             acl_user_counter(acl, account->uid, acl->rules[i].plugin)->used,
                             whose);
}
