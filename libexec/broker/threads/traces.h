/* The program rtf-watch (libexec/tracer) gives users the events of their own threads. It runs only
 * while a user traces. */
#ifndef RTF_TRACES_H
#define RTF_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens tracefs, and tells the launcher about rtf-watch. Call this before the launcher is forked,
 * and before the broker gives up its rights. */
void traces_prepare(char *path);

/* Returns why no trace may begin, as a sentence, and sets *status (sysexits(3)). NULL: a trace may
 * begin. A user has one trace at a time. */
const char *traces_refuse(uid_t uid, int *status);

/* Begins a trace. threads, causes: as in op=begin of rtf-watch. The caller keeps its descriptor
 * `socket` of the user's process. False: rtf-watch does not run. */
bool traces_begin(uid_t uid, const char *threads, int socket, bool causes);

/* Tells rtf-watch that the thread is not attached any more. */
void traces_leave(pid_t tid);

#endif
