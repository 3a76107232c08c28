#include "serving.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* The FIFO `alive` has a reader while a broker serves, and the FIFO `starting` while a broker
 * starts. */
static bool has_reader(int root, const char *fifo)
{
    struct stat status;
    const int fd = openat(root, fifo, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES;
    const bool is_fifo = fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
    close(fd);
    return is_fifo;
}

enum serving serving(int root)
{
    return has_reader(root, "alive")      ? SERVED
           : has_reader(root, "starting") ? STARTING
                                          : NOT_SERVED;
}
