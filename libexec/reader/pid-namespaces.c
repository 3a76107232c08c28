#include "pid-namespaces.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"

/* The type of file handles of pidfs, as in the kernel's include/linux/exportfs.h. */
enum { FILEID_OF_PIDFS = 0xfe };

pid_t namespaces_translate(uint64_t inode)
{
    union {
        struct file_handle handle;
        unsigned char room[sizeof(struct file_handle) + sizeof inode];
    } pidfs = {.handle = {.handle_bytes = sizeof inode, .handle_type = FILEID_OF_PIDFS}};
    struct identity identity = {0};
    memcpy(pidfs.handle.f_handle, &inode, sizeof inode);
    /* any pidfd tells open_by_handle_at(2) the file system */
    const int own_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    /* O_EXCL: a pidfd of the thread, not of its process (PIDFD_THREAD) */
    const int pidfd = open_by_handle_at(own_pidfd, &pidfs.handle, O_RDONLY | O_CLOEXEC | O_EXCL);
    if (own_pidfd >= 0)
        close(own_pidfd);
    if (pidfd < 0)
        return 0;
    const bool found = thread_of_pidfd(pidfd, &identity) && !thread_has_ended(pidfd);
    close(pidfd);
    return found ? identity.tid : 0;
}
