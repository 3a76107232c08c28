#include "roots-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool only_root_writes(const struct stat *status)
{
    return (status->st_uid == 0 || status->st_uid == geteuid()) && (status->st_mode & 022) == 0;
}

int roots_file_open(const char *path, char reason[static REASON_BYTES])
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && only_root_writes(&status))
        return fd;
    if (fd < 0) {
        (void)fault_in(reason, REASON_BYTES, "%.300s: %s", path, strerror(errno));
        return -1;
    }
    (void)fault_in(
        reason, REASON_BYTES,
        "%.300s: must be a regular file of root's that nobody else can write (mode 0644 at most)",
        path);
    close(fd);
    return -1;
}
