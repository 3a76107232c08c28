/* A private instance of the kernel's tracing: a directory in tracefs with buffers, a clock and
 * events of its own. Nothing of an instance stays when its process is killed: a guard process
 * removes the directory. If the guard is killed, too, the next instance_make removes the
 * directory. */
#ifndef RTF_WATCH_TRACE_INSTANCE_H
#define RTF_WATCH_TRACE_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { INSTANCE_NAME = 64, INSTANCE_PATH = 160 };

struct instance {
    int root; /* the root of tracefs; -1: there is no instance */
    pid_t guard;
    char name[INSTANCE_NAME];
};

/* Makes the instance of this process. A process has at most one instance. root: an open directory
 * of tracefs, which the instance takes over; -1: instance_make opens tracefs. False: errno says
 * why. */
bool instance_make(struct instance *instance, int root);

/* Writes the text to a file of the instance. False: errno says why. */
bool instance_put(const struct instance *instance, const char *file, const char *text);

/* Opens a file of the instance. -1: errno says why. */
int instance_open(const struct instance *instance, const char *file, int flags);

/* Reads a file of tracefs, outside of the instance, and ends the text with a zero byte. Returns its
 * length; 0: the file cannot be read or does not fit. */
size_t instance_read(const struct instance *instance, const char *file, char *text, size_t size);

/* Removes the instance. Before this call, close all files of the instance. */
void instance_remove(struct instance *instance);

#endif
