/* The broker as a process: the place of its programs, its priority, its memory, its terminal. */
#ifndef RTF_PROCESS_H
#define RTF_PROCESS_H

#include "child-kind.h"

void clean_process(void);
void find_libexec(void);

/* Valid until the next call. */
char *program_path(const char *name);

/* Ends the program if the user that plugins run as cannot run one of them, for example in a
 * directory that is closed to others. */
void check_programs(struct identity_to_run_as as);

/* Raises the limit of open files. Ends the program if the limit is too low for --max-specs. */
void allow_descriptors(void);

void outrank_grants(void);
void lock_memory(void);

/* Returns the descriptor for say_ready, in the process that goes on. */
int go_to_background(void);

/* fd -1: the broker has stayed in the foreground. */
void say_ready(int fd);

#endif
