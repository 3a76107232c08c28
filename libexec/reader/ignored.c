#include "ignored.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 4096 };
static const char file[] = ".ignored";

void ignored_begin(void)
{
    (void)unlink(file);
}

static bool has_line(int fd, const char *line)
{
    char text[BYTES + 1];
    ssize_t length = pread(fd, text, BYTES, 0);
    if (length < 0 || length == BYTES)
        return true; /* the file is full */
    text[length] = '\0';
    const char *found = strstr(text, line);
    while (found != NULL && found != text && found[-1] != '\n')
        /* this is a part of a longer name: looks for the next match */
        found = strstr(found + 1, line);
    return found != NULL;
}

void ignored_add(const char *name)
{
    struct stat status;
    char line[256];
    int fd = open(file, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    snprintf(
        line, sizeof line,
        "%s: ignored: a name must be [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} followed by .json or .tid\n",
        name);
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && !has_line(fd, line))
        (void)!write(fd, line, strlen(line));
    close(fd);
}
