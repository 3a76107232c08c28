/* A needs file with rules for threads: the file of a program (rtf-spec(5)) that names no process
 * yet. Commands that know the process complete it. */
#ifndef RTF_THREAD_RULES_H
#define RTF_THREAD_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* The file has rules for threads, and is no spec of one thread. */
bool thread_rules_are_in(const json_t *needs);

/* Names the process whose threads the rules are for. A file that names a process or a program
 * itself ends this process with EX_DATAERR. */
void thread_rules_name_process(json_t *needs, pid_t process);

/* Returns rules that give `needs` to each thread of the process whose name matches the pattern, and
 * leave the others. The caller owns the object. */
json_t *thread_rules_for_all(const json_t *needs, const char *pattern, pid_t process);

#endif
