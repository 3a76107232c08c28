#include "usage-marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

enum { PIPE_BYTES = 65536 };

int marks_directory(int specs, const char *user)
{
    const int own = openat(specs, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (own < 0)
        return -1;
    (void)mkdirat(own, ".jobs", 0700);
    const int directory = openat(own, ".jobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int error = errno;
    close(own);
    errno = error;
    return directory;
}

/* Opens the FIFO for reading and writing, so that read(2) does not report the end of the file when
 * the last program closes the FIFO. O_NONBLOCK: the user may have put another file there, such as a
 * link to a terminal, and open(2) must not wait. */
static int open_fifo(int directory, const char *name)
{
    struct stat status;
    const int fifo = openat(directory, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fifo >= 0 && fstat(fifo, &status) == 0 && S_ISFIFO(status.st_mode))
        return fifo;
    if (fifo >= 0) {
        close(fifo);
        errno = EEXIST;
    }
    return -1;
}

/* True if the name still belongs to the open FIFO. False: another process has removed the FIFO
 * meanwhile. */
static bool is_there(const struct marks *marks)
{
    struct stat opened, named;
    return fstat(marks->fifo, &opened) == 0 &&
           fstatat(marks->directory, marks->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* Locks the FIFO, so that only one process reads the marks. The kernel releases the lock when the
 * process ends in any way. */
bool marks_open(struct marks *marks, int directory, const char *name, uint64_t deadline,
                const char **why)
{
    *marks = (struct marks){.fifo = -1,
                            .directory = directory,
                            .name = name,
                            .since = monotonic_now() / 1000,
                            .deadline = deadline};
    marks->is_made = mkfifoat(directory, name, 0600) == 0;
    marks->fifo = open_fifo(directory, name);
    if (marks->fifo < 0) {
        *why = errno == EEXIST ? "the file is no FIFO" : strerror(errno);
        return false;
    }
    if (flock(marks->fifo, LOCK_EX | LOCK_NB) == 0 && is_there(marks))
        return true;
    *why = "another rtf usage or rtf why reads them";
    close(marks->fifo);
    marks->fifo = -1;
    return false;
}

static bool is_mark(const char *line, int64_t *release, int64_t *end, int64_t *deadline)
{
    int length = 0;
    const int values = sscanf(line, "%" SCNd64 " %" SCNd64 "%n %" SCNd64 "%n", release, end,
                              &length, deadline, &length);
    return values >= 2 && line[length] == '\0' && *release >= 0 && *end >= *release &&
           *deadline >= 0;
}

static void take_line(struct marks *marks, const char *line)
{
    int64_t release = 0, end = 0, deadline = (int64_t)marks->deadline;
    if (marks->is_too_long || !is_mark(line, &release, &end, &deadline)) {
        marks->wrong++;
        return;
    }
    if (end < marks->since)
        return;
    const uint64_t took = (uint64_t)(end - release);
    marks->jobs++;
    marks->missed += took > (uint64_t)deadline;
    if (took > marks->worst)
        marks->worst = took;
    if (marks->each != NULL)
        marks->each(marks->context, release, end, deadline);
}

void marks_take(struct marks *marks, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\n') {
            marks->rest[marks->rest_length] = '\0';
            take_line(marks, marks->rest);
            marks->rest_length = 0;
            marks->is_too_long = false;
        } else if (marks->rest_length + 1 < sizeof marks->rest && text[i] != '\0')
            marks->rest[marks->rest_length++] = text[i];
        else
            marks->is_too_long = true;
}

void marks_read(struct marks *marks)
{
    static char text[PIPE_BYTES];
    const ssize_t length = marks->fifo < 0 ? -1 : read(marks->fifo, text, sizeof text);
    if (length > 0)
        marks_take(marks, text, (size_t)length);
}

/* Removes the FIFO before it releases the lock. A process that gets the lock then sees that the
 * FIFO has no name any more (is_there). */
void marks_close(struct marks *marks)
{
    if (marks->fifo < 0)
        return;
    if (marks->is_made && is_there(marks))
        (void)unlinkat(marks->directory, marks->name, 0);
    close(marks->fifo);
    marks->fifo = -1;
}
