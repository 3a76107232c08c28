/* The broker as a process: the place of its programs, its priority, its memory, its terminal. */
#ifndef RTF_PROCESS_H
#define RTF_PROCESS_H

#include "child-kind.h"

void clean_process(void);
void find_libexec(void);

/* The path of rtf's program `name`. The text is valid until the next call. */
char *program_path(const char *name);

/* Plugins run as the user `as`. Ends the broker if this user cannot run one of the plugins, for
 * example because other users may not enter the directory of the plugin. */
void check_programs(struct identity_to_run_as as);

/* Raises the limit of open files. Ends the program if the limit is too low for --max-specs. */
void allow_descriptors(void);

void outrank_grants(void);
void lock_memory(void);

/* Forks. Returns only in the child, with the descriptor for say_ready; the parent waits for
 * say_ready and then ends. */
int go_to_background(void);

/* Tells the parent of go_to_background that the broker serves. fd == -1: the broker has stayed in
 * the foreground, and nobody is told. */
void say_ready(int fd);

#endif
