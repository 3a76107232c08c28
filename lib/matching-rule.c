#include "matching-rule.h"

/* After a mismatch, the last * in the pattern takes one character more. An earlier * need not take
 * more characters, because the part of the pattern between the earlier * and the last * has matched
 * already. */
bool glob_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *after = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            after = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++after;
        } else
            return false;
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

int program_rule_for(const struct program_file *file, const char *name)
{
    for (int i = 0; i < file->rule_count; i++)
        if (glob_matches(file->rules[i].name, name))
            return i;
    return -1;
}
