/* The process that a broker is: where its programs are, its priority, its memory, its terminal. */
#ifndef RTF_PROCESS_H
#define RTF_PROCESS_H

void clean_process(void);
void find_libexec(void);

/* Until the next call. */
char *program_path(const char *name);

void outrank_grants(void);
void lock_memory(void);

/* For say_ready, in the process that goes on. */
int go_to_background(void);

/* -1: it has stayed in the foreground. */
void say_ready(int fd);

#endif
