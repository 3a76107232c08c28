/* A needs file (needs.h) with rules for threads is a program file (rtf-spec(5)) that names no
 * process yet. Commands that know the process add it. */
#ifndef RTF_THREAD_RULES_H
#define RTF_THREAD_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* True if the file has rules for threads; false if it is a spec of one thread. */
bool thread_rules_are_in(const json_t *needs);

/* Names the process whose threads the rules are for. The rules end with the process, unless they
 * say otherwise. If the rules already name a process or a program, this process ends with
 * EX_DATAERR. */
void thread_rules_name_process(json_t *needs, pid_t process);

/* Returns rules that give `needs` to each thread whose name matches the pattern; NULL: any name.
 * The caller owns the object. NULL: no rule can state such a pattern or such needs, for example a
 * claim on a disk. */
json_t *thread_rules_for_all(const json_t *needs, const char *pattern);

#endif
