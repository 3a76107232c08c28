#include "kept.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "units.h"

static const char file[] = ".events", older[] = ".events.1";
/* bytes. MOST: the limit of each of the two files. AROUND: what a line needs beside its text. */
enum { MOST = 1 << 18, AROUND = 160 };

static int open_file(void)
{
    struct stat status;
    int fd = open_plain(file, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    const bool is_plain =
        fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
    if (is_plain && status.st_size < MOST)
        return fd;
    close(fd);
    if (!is_plain || rename(file, older) != 0)
        return -1;
    return open(file, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void kept_verdict(const char *name, const char *text, size_t length)
{
    int fd = open_file();
    if (fd < 0)
        return;
    char *line = malloc(length + AROUND);
    if (line != NULL) {
        const int put = snprintf(line, length + AROUND, "{\"name\":\"%s\",\"verdict\":%.*s}\n",
                                 name, (int)length, text);
        (void)!write(fd, line, (size_t)put);
    }
    free(line);
    close(fd);
}

void kept_release(const char *name, const char *why)
{
    char line[AROUND + NAME_BYTES], now[SECONDS_TEXT];
    int fd = open_file();
    if (fd < 0)
        return;
    const int put =
        snprintf(line, sizeof line, "{\"name\":\"%s\",\"released\":\"%s\",\"ended\":\"%.16s\"}\n",
                 name, format_seconds(realtime_now(), now), why == NULL ? "user" : why);
    (void)!write(fd, line, (size_t)put);
    close(fd);
}
