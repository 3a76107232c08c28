/* The file of the option -f (needs.h) may have rules for several threads. Such a file is a program
 * file (rtf-spec(5)) that names no process yet. The commands that know the process add the key
 * "process". */
#ifndef RTF_NEEDS_RULES_H
#define RTF_NEEDS_RULES_H

#include <jansson.h>
#include <stdbool.h>

/* True if the file has rules for threads; false if it is a spec of one thread. */
bool needs_rules_are_in(const json_t *needs);

/* Adds the key "process" to the rules: the rules are for the threads of this process. process: a
 * value as client_thread_key makes it; the rules take it over. If the rules state no lifetime, they
 * end with the process. If the rules already name a process, program or cgroup, the
 * function prints a message and ends the calling command with EX_DATAERR. */
void needs_rules_name_process(json_t *needs, json_t *process);

/* Returns rules that give `needs` to each thread with a name that matches `pattern`; NULL: to all
 * threads. A key that is for a whole process, such as a claim on a disk, stands beside the
 * rules. The caller owns the returned object. Returns NULL if a rule cannot state such a pattern or
 * such needs, for example one runtime for all threads. */
json_t *needs_rules_for_all(const json_t *needs, const char *pattern);

#endif
