/* Finds the rule of a program file for a thread, by the name of the thread. */
#ifndef RTF_MATCHING_RULE_H
#define RTF_MATCHING_RULE_H

#include "program-file.h"

/* Returns the index of the first rule that matches this name of a thread; -1: no rule matches. */
int program_rule_for(const struct program_file *file, const char *name);

/* True if the pattern matches the name. The number of steps is at most the product of both lengths,
 * even if the pattern has many *. */
bool glob_matches(const char *pattern, const char *name);

#endif
