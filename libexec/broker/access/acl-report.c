#include <jansson.h>

#include "acl-rules.h"
#include "acl.h"
#include "plugin-lines.h"
#include "units.h"

static json_t *sum_as_json(const struct rule *rule, uint64_t sum)
{
    char text[UTILIZATION_TEXT];
    return json_string(format_sum(rule, sum, text));
}

static json_t *judged(struct question *question, const struct rule *rule)
{
    const bool of_threads = rule->property == MAX_USER_THREADS,
               has_sum = of_threads || rule_opens(rule);
    const uint64_t asked = of_threads ? 1 : acl_weight(question->spec, question->spec->runtime);
    rule_judge(question, rule);
    return json_pack("{s:s, s:i, s:s, s:o, s:o, s:s}", "plugin",
                     plugin_line(question->plugin)->name, "line", rule->line, "text", rule->text,
                     "used", has_sum ? sum_as_json(rule, rule_used(question, rule)) : json_null(),
                     "asked", has_sum ? sum_as_json(rule, asked) : json_null(), "says",
                     question->denied   ? "refuses"
                     : rule_opens(rule) ? "opens"
                                        : "passes");
}

/* Judges each rule separately, because the list shows all rules that refuse. A refusal shows only
 * the first. */
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
