/* The process that a broker is: where its programs are, its priority, its memory, its terminal. */
#ifndef RTF_PROCESS_H
#define RTF_PROCESS_H

#include "child-kind.h"

void clean_process(void);
void find_libexec(void);

/* Until the next call. */
char *program_path(const char *name);

/* Ends where this user, as whom plugins run, cannot run one of them, such as in a directory that is closed to others. */
void check_programs(struct identity_to_run_as as);

/* Raises the limit of open files, or ends where it is too low for --max-specs. */
void allow_descriptors(void);

void outrank_grants(void);
void lock_memory(void);

/* For say_ready, in the process that goes on. */
int go_to_background(void);

/* -1: it has stayed in the foreground. */
void say_ready(int fd);

#endif
