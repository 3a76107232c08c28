/* rtf-logger: writes events.ndjson for the broker, which must not wait for a disk. Standard input
 * is a pipe of lines; descriptor 3 is the directory log/. After an empty line rtf-logger opens the
 * file anew. At end of file the logger writes all that it has read, and ends. The logger writes
 * nothing to its standard output: the end of this output tells the broker that the logger has
 * ended.
 *
 * A log that cannot be written stops nothing: lines that cannot be written are counted, and the
 * number is logged when the log works again. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "confine.h"
#include "capabilities.h"

enum { DIRECTORY = 3, ROOM = 1 << 17 };
static const char log_name[] = "events.ndjson";
static int file = -1;
static unsigned long long lost;

static void reopen(void)
{
    if (file >= 0)
        close(file);
    file = openat(DIRECTORY, log_name,
                  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0640);
    if (file >= 0)
        /* sets the mode independently of the umask; the group of the file is the group of the
         * directory */
        (void)fchmod(file, 0640);
}

static unsigned lines_in(const char *text, size_t length)
{
    unsigned lines = 0;
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + length - at))) != NULL; at++)
        lines++;
    return lines;
}

/* Writes whole lines; a partly written line is removed again, so that a full disk does not leave
 * half a JSON object. Returns the number of lines that were not written. */
static unsigned write_lines(const char *text, size_t length)
{
    if (file < 0)
        reopen();
    ssize_t put = file < 0 ? -1 : write(file, text, length);
    if (put == (ssize_t)length)
        return 0;
    size_t whole = put < 0 ? 0 : (size_t)put;
    while (whole > 0 && text[whole - 1] != '\n')
        whole--;
    off_t end = put > (ssize_t)whole ? lseek(file, 0, SEEK_CUR) : -1;
    if (end >= put)
        (void)ftruncate(file, end - put + (off_t)whole);
    return lines_in(text + whole, length - whole);
}

/* Logs how many lines are missing. False: the log still cannot be written. */
static bool report_lost(void)
{
    char line[512], seconds[24];
    struct timespec now;
    struct tm utc;
    if (lost == 0)
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    int length = snprintf(
        line, sizeof line,
        "{\"schema\":1,\"time\":\"%s.%06ldZ\",\"stage\":\"broker\",\"uid\":null,\"user\":null,\"name\":null,\"request\":null,"
        "\"decision\":\"error\",\"result\":null,\"code\":null,\"reason\":\"the log could not be written for a time, %llu lines are missing\","
        "\"plugin\":null,\"tid\":null,\"us\":null,\"token\":null,\"grant\":null,\"ended\":null}\n",
        seconds, now.tv_nsec / 1000, lost);
    if (write_lines(line, (size_t)length) != 0)
        return false;
    lost = 0;
    return true;
}

static void put(const char *text, size_t length)
{
    if (length > 0)
        lost += report_lost() ? write_lines(text, length) : lines_in(text, length);
}

/* Takes whole lines. Lines before an empty line belong to the present file, later lines to the next
 * file. */
static void take(const char *text, size_t length)
{
    size_t from = 0;
    for (size_t at = 0; at < length; at++)
        if (text[at] == '\n' && (at == 0 || text[at - 1] == '\n')) {
            put(text + from, at - from);
            reopen();
            from = at + 1;
        }
    put(text + from, length - from);
}

static bool confine(void)
{
    static const char *const calls[] = {
        "read write openat open close fstat newfstatat lseek ftruncate fchmod clock_gettime",
        "rt_sigreturn restart_syscall brk mmap munmap mremap madvise futex exit exit_group", NULL};
    static const int no_powers[] = {-1};
    const struct confine_path files[] = {{"/proc/self/fd/3", MAY_CHANGE}, {0}};
    if (!confine_for_good() || !capabilities_keep(no_powers))
        return false;
    (void)confine_files(files); /* the broker reports a kernel without Landlock */
    return confine_calls(calls);
}

int main(void)
{
    static char text[ROOM];
    size_t length = 0;
    ssize_t got;
    if (!confine()) {
        fprintf(stderr, "rtf-logger: cannot drop unneeded privileges: %s\n", strerror(errno));
        return EX_OSERR;
    }
    reopen();
    while ((got = read(STDIN_FILENO, text + length, sizeof text - length)) > 0 ||
           (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        length += (size_t)got;
        const char *last = memrchr(text, '\n', length);
        size_t whole = last == NULL ? 0 : (size_t)(last - text) + 1;
        take(text, whole);
        length -= whole;
        memmove(text, text + whole, length);
        if (length == sizeof text) /* the broker writes no line of this length */
            length = 0;
    }
    (void)report_lost();
    return got < 0 ? EX_IOERR : EX_OK;
}
