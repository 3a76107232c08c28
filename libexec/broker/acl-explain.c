#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "acl-rules.h"

/* Rules that do not do what their author meant. */

static bool is_same(const struct rule *one, const struct rule *other)
{
    if (one->domain == other->domain)
        return strcmp(one->name, other->name) == 0;
    if (one->domain > other->domain)
        return is_same(other, one);
    const struct passwd *account = one->domain == USER_NAME && other->domain == USER_ID ? getpwuid(other->id) : NULL;
    const struct group *group = one->domain == GROUP_NAME && other->domain == GROUP_ID ? getgrgid(other->id) : NULL;
    return (account != NULL && strcmp(account->pw_name, one->name) == 0) || (group != NULL && strcmp(group->gr_name, one->name) == 0);
}

static bool is_group(const struct rule *rule)
{
    return rule->domain == GROUP_NAME || rule->domain == GROUP_ID;
}

static bool is_broader(const struct rule *broad, const struct rule *rule)
{
    bool same = is_same(broad, rule);
    return (same || broad->domain == EVERYBODY) && (broad->plugin == ANY_PLUGIN || broad->plugin == rule->plugin);
}

/* Membership opens, too, and the account database is at hand. */
static bool is_in(const struct rule *user, const struct rule *group)
{
    gid_t gids[1024];
    int count = (int)(sizeof gids / sizeof *gids);
    const struct passwd *account = user->domain == USER_NAME ? getpwnam(user->name) : user->domain == USER_ID ? getpwuid(user->id) : NULL;
    if ((group->domain != GROUP_NAME && group->domain != GROUP_ID) || account == NULL ||
        getgrouplist(account->pw_name, account->pw_gid, gids, &count) < 0)
        return false;
    for (int i = 0; i < count; i++) {
        const struct group *one = group->domain == GROUP_NAME ? getgrgid(gids[i]) : NULL;
        if (group->domain == GROUP_ID ? gids[i] == group->id : one != NULL && strcmp(one->gr_name, group->name) == 0)
            return true;
    }
    return false;
}

/* Something opens to whom this rule is for; perhaps only one plugin of several. */
static bool something_opens(const struct acl *acl, const struct rule *rule)
{
    for (int i = 0; i < acl->count; i++) {
        const struct rule *other = &acl->rules[i];
        bool plugin = rule->plugin == ANY_PLUGIN || other->plugin == ANY_PLUGIN || other->plugin == rule->plugin;
        bool same = other->domain == EVERYBODY || is_same(other, rule) || (is_group(other) && is_group(rule)); /* members may be in both */
        if (rule_opens(other) && plugin && (same || rule->domain == EVERYBODY || is_in(rule, other) || is_in(other, rule)))
            return true;
    }
    return false;
}

static bool something_bounds(const struct acl *acl, const struct rule *rule)
{
    for (int i = 0; i < acl->count; i++) {
        const struct rule *other = &acl->rules[i];
        if (!rule_opens(other) && other->property != IGNORE_ADM_TEST && other->property != MIN_RUNTIME &&
            (is_broader(other, rule) || is_in(rule, other) || is_in(other, rule) || (is_group(other) && is_group(rule))))
            return true;
    }
    return false;
}

static bool is_first_of_subject(const struct acl *acl, int index)
{
    const struct rule *rule = &acl->rules[index];
    for (int i = 0; i < index; i++) {
        const struct rule *before = &acl->rules[i];
        if (before->domain == rule->domain && strcmp(before->name, rule->name) == 0 && before->plugin == rule->plugin &&
            rule_opens(before) == rule_opens(rule))
            return false;
    }
    return true;
}

/* The smallest runtime of one rule is more than the largest of another, which is for the same. */
static const struct rule *rule_below(const struct acl *acl, const struct rule *rule)
{
    for (int i = 0; rule->property == MIN_RUNTIME && i < acl->count; i++) {
        const struct rule *other = &acl->rules[i];
        int plugin = rule->plugin != ANY_PLUGIN ? rule->plugin : other->plugin;
        if (other->property == MAX_RUNTIME && other->value < rule->value && (is_broader(other, rule) || is_broader(rule, other)) &&
            (plugin == ANY_PLUGIN || rule_bounds_least(rule, plugin)))
            return other;
    }
    return NULL;
}

void acl_doubts(const struct acl *acl, FILE *output)
{
    for (int i = 0; i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i], *below = rule_below(acl, rule);
        if (below != NULL)
            fprintf(output, "acl.conf:%d: %s: no runtime passes this and line %d: %s\n", rule->line, rule->text, below->line, below->text);
        if (!is_first_of_subject(acl, i))
            continue;
        if (!rule_opens(rule) && !something_opens(acl, rule))
            fprintf(output, "acl.conf:%d: %s: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)\n", rule->line,
                    rule->text);
        else if (rule_opens(rule) && !something_bounds(acl, rule))
            fprintf(output, "acl.conf:%d: %s: this opens, and nothing bounds runtime, period, deadline or priority\n", rule->line, rule->text);
    }
}
