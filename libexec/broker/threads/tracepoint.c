#include "tracepoint.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracing.h"

static const char place[] = "events/sched/sched_pi_setprio/";

static void read_file(int root, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", place, name);
    const int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    text[got < 0 ? 0 : got] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Finds the offset of a field in the description of a tracepoint, which has lines like "field:int
 * newprio; offset:20;". False: there is no such field. */
static bool find_offset(const char *format, const char *field, unsigned *offset)
{
    const char *found = strstr(format, field);
    const char *number = found == NULL ? NULL : strstr(found, "offset:");
    return number != NULL && sscanf(number, "offset:%u;", offset) == 1;
}

void tracepoint_find(char text[static TRACEPOINT_TEXT])
{
    char id[32], format[4096];
    unsigned process, before, after;
    const int root = tracing_open();
    text[0] = '\0';
    if (root < 0)
        return;
    read_file(root, "id", id, sizeof id);
    read_file(root, "format", format, sizeof format);
    close(root);
    id[strcspn(id, "\n")] = '\0';
    if (id[0] != '\0' && find_offset(format, " pid;", &process) &&
        find_offset(format, " oldprio;", &before) && find_offset(format, " newprio;", &after))
        snprintf(text, TRACEPOINT_TEXT, "%s:%u:%u:%u", id, process, before, after);
}
