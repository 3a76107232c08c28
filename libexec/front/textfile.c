#include "textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 10 };
/* The collector reads only files whose names end with .prom. */
static const char name[] = "rtf.prom", new_name[] = ".rtf.prom.new";

static bool write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        text += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
    return true;
}

/* Sets the group before the mode, because the mode lets the group read the file. Before, only the
 * owner can read the file. */
static bool set_readers(int file, gid_t readers)
{
    if (readers == TEXTFILE_EVERYBODY)
        return fchmod(file, 0644) == 0;
    return fchown(file, (uid_t)-1, readers) == 0 && fchmod(file, 0640) == 0;
}

/* Gives the file its name. Another run may do the same at the same time, so each of the two names
 * has a whole text at any time. */
static bool put_in_place(int directory, int file)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    for (int tries = 0; tries < TRIES; tries++) {
        (void)unlinkat(directory, new_name, 0); /* a run that was killed may have left this file */
        if (linkat(AT_FDCWD, path, directory, new_name, AT_SYMLINK_FOLLOW) != 0) {
            if (errno != EEXIST)
                return false;
        } else if (renameat(directory, new_name, directory, name) == 0)
            return true;
        else if (errno != ENOENT)
            return false;
    }
    return false;
}

gid_t textfile_group_of(const char *directory)
{
    struct stat status;
    return stat(directory, &status) == 0 ? status.st_gid : TEXTFILE_EVERYBODY;
}

bool textfile_write(const char *path, const char *text, size_t length, gid_t readers)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int file =
        directory < 0 ? -1 : openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    const bool is_good = file >= 0 && write_all(file, text, length) && set_readers(file, readers) &&
                         put_in_place(directory, file);
    const int error = errno;
    if (file >= 0)
        close(file);
    if (directory >= 0)
        close(directory);
    errno = error;
    return is_good;
}
