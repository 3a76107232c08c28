/* rtf-publisher GID: writes status.json for the broker, which opens no file of the spool itself.
 * Standard input is a pipe of texts of one line each; descriptor 3 is the spool's directory. Each
 * text replaces the one before by rename(2), so a reader always reads one whole text. After each
 * text a paragraph on standard output gives the result: error=, a number as in errno(3), 0 if the
 * text is in place.
 *
 * rtf-publisher is a program of its own because the broker's journal and log are in the same
 * directory. Before the first byte is read, a filter fixes the system calls, and even the file
 * names that they get: the filter compares the addresses of the two names, in memory that no call
 * can change any more. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "confine.h"
#include "capabilities.h"
#include "units.h"

enum {
    SPOOL = 3,
    MODE = 0640,
    FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
    ANSWER_BYTES = 32
};
static const char name[] = "status.json", new_name[] = ".status.json.new";
static int file = -1, error;

/* Makes the new file. First removes a file that an earlier publisher left when it was killed. */
static void begin(void)
{
    (void)unlinkat(SPOOL, new_name, 0);
    file = openat(SPOOL, new_name, FLAGS, MODE);
    error = file < 0 ? errno : 0;
}

static void put(const char *text, size_t length)
{
    if (length > 0 && file < 0 && error == 0)
        begin();
    while (length > 0 && error == 0) {
        const ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR)
            error = errno;
        text += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
}

/* False: the broker has closed standard output. */
static bool answer(void)
{
    char text[ANSWER_BYTES];
    const int length = snprintf(text, sizeof text, "error=%d\n\n", error);
    error = 0;
    return write(STDOUT_FILENO, text, (size_t)length) == length;
}

static bool publish(void)
{
    if (file >= 0 && close(file) != 0 && error == 0)
        error = errno;
    file = -1;
    if (error == 0 && renameat(SPOOL, new_name, SPOOL, name) != 0)
        error = errno;
    if (error != 0)
        (void)unlinkat(SPOOL, new_name, 0);
    return answer();
}

static bool take(const char *text, size_t length)
{
    const char *end;
    while ((end = memchr(text, '\n', length)) != NULL) {
        put(text, (size_t)(end + 1 - text));
        if (!publish())
            return false;
        length -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    put(text, length);
    return true;
}

static bool confine_to_names(void)
{
    /* none of these calls maps memory or changes the protection of memory */
    static const char *const calls[] = {
        "read",  "write",      "close",      "rt_sigreturn", "restart_syscall",
        "exit",  "exit_group",
#ifdef __SANITIZE_ADDRESS__
        "mmap",  "munmap",     "mprotect",   "mremap",       "madvise",
        "futex", "openat",     "newfstatat", "fstat",        "rt_sigprocmask",
#endif
        NULL};
    const uint64_t old = (uint64_t)new_name, new = (uint64_t)name;
    const struct confine_exact exact[] = {
        {"openat", 4, {{0, SPOOL}, {1, old}, {2, FLAGS}, {3, MODE}}},
        {"renameat", 4, {{0, SPOOL}, {1, old}, {2, SPOOL}, {3, new}}},
        {"renameat2", 4, {{0, SPOOL}, {1, old}, {2, SPOOL}, {3, new}}},
        {"unlinkat", 3, {{0, SPOOL}, {1, old}, {2, 0}}},
        {0},
    };
    return confine_calls_exactly(calls, exact);
}

/* The files that this process makes get its group. So it takes the group first, and then gives
 * up the capability to change groups. */
static bool confine(gid_t group)
{
    static const int no_powers[] = {-1};
    const struct confine_path files[] = {{"/proc/self/fd/3", MAY_REPLACE}, {0}};
    umask(0); /* the file gets MODE exactly */
    if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 || !confine_for_good() ||
        !capabilities_keep(no_powers))
        return false;
    (void)confine_files(files); /* the broker reports a kernel without Landlock */
    return confine_to_names();
}

int main(int argc, char **argv)
{
    static char text[1 << 16];
    uint64_t group;
    ssize_t got;
    if (argc != 2 || !parse_number(argv[1], UINT32_MAX - 1, &group))
        return EX_USAGE;
    if (!confine((gid_t)group)) {
        fprintf(stderr, "rtf-publisher: cannot drop unneeded privileges: %s\n", strerror(errno));
        return EX_OSERR;
    }
    while ((got = read(STDIN_FILENO, text, sizeof text)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0 && !take(text, (size_t)got))
            break;
    /* no atexit(3): sanitizers would look for leaks with calls that the filter refuses */
    _exit(got == 0 ? EX_OK : EX_IOERR);
}
