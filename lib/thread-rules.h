/* A needs file (needs.h) with rules for threads is a program file (rtf-spec(5)) that names no
 * process yet. Commands that know the process add it. */
#ifndef RTF_THREAD_RULES_H
#define RTF_THREAD_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* True if the file has rules for threads; false if it is a spec of one thread. */
bool thread_rules_are_in(const json_t *needs);

/* Adds the key "process" to the rules: the rules are for the threads of `process`. If the rules
 * state no lifetime, they end with `process`. If the rules already name a process or a program, the
 * function prints a message and ends the calling command with EX_DATAERR. */
void thread_rules_name_process(json_t *needs, pid_t process);

/* Returns rules that give `needs` to each thread whose name matches `pattern`, or to all threads if
 * `pattern` is NULL. The caller owns the returned object. Returns NULL if a rule cannot state such
 * a pattern or such needs, for example a claim on a disk. */
json_t *thread_rules_for_all(const json_t *needs, const char *pattern);

#endif
