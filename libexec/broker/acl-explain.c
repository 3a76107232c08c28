#include "acl-rules.h"
#include "units.h"

/* What is left of a sum beside what this wish holds already is in the reason of a refusal; here all of it is told. */
static void show_sum(const struct question *question, const struct rule *rule, FILE *output)
{
    char used[UTILIZATION_TEXT], asked[UTILIZATION_TEXT];
    const struct counter *counter = rule_counter(question->acl, rule, question->account);
    fprintf(output, ": %s used, %s asked", format_utilization(counter->used, used),
            format_utilization(acl_weight(question->spec, question->spec->runtime), asked));
}

void acl_explain(struct acl *acl, const struct account *account, int plugin, const struct spec *spec, const struct grant *const own[2], FILE *output)
{
    int shown = 0;
    if (account->uid == 0) {
        fprintf(output, "  root is not restricted by acl.conf\n");
        return;
    }
    for (int i = 0; i < acl->count; i++) {
        char reason[REASON_BYTES];
        struct refusal refusal = {0};
        const struct rule *rule = &acl->rules[i];
        struct question question = {.acl = acl, .account = account, .plugin = plugin, .spec = spec, .own = own, .ceiling = UINT64_MAX,
                                    .refusal = &refusal, .reason = reason};
        if (!rule_matches(rule, account, plugin))
            continue;
        rule_judge(&question, rule);
        fprintf(output, "  acl.conf:%d: %s", rule->line, rule->text);
        if (rule_opens(rule))
            show_sum(&question, rule, output);
        fprintf(output, ": %s\n", question.denied ? "refuses" : rule_opens(rule) ? "opens" : "passes");
        shown++;
    }
    fprintf(output, "  %d of the %d rules of acl.conf are for this user and plugin\n", shown, acl->count);
}
