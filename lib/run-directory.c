#include "run-directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (status.st_mode & S_ISVTX) != 0;
}

static bool is_in_place(int fd)
{
    struct stat held, there;
    return fstat(fd, &held) == 0 && stat(RUN_DIRECTORY, &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* Makes, opens and locks the directory. Another program, the last one to use the directory, may
 * remove the directory between any two steps here. So the function repeats the steps. MOST tries in
 * a row cannot all fail for this reason. */
int run_directory_hold(void)
{
    enum { MOST = 100 };
    int fd = -1;
    for (int tries = 0; tries < MOST && fd < 0; tries++) {
        if (mkdir(RUN_DIRECTORY, RUN_DIRECTORY_MODE) != 0 && errno != EEXIST)
            return -1;
        fd = open(RUN_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && is_ours(fd) && (flock(fd, LOCK_SH) != 0 || !is_in_place(fd))) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

void run_directory_leave(int held)
{
    if (held < 0)
        return;
    if (is_ours(held) && flock(held, LOCK_EX | LOCK_NB) == 0 && is_in_place(held))
        (void)rmdir(RUN_DIRECTORY);
    close(held);
}
