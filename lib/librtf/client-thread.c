#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "client.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* the kernel has this flag since Linux 6.9 */
#endif
/* FIRST_PID_NAMESPACE: the inode of the first pid namespace (include/linux/proc_ns.h). PIDFS: the
 * type of the file system of pidfds (include/uapi/linux/magic.h) */
enum { FIRST_PID_NAMESPACE = 0xeffffffc, PIDFS = 0x50494446 };

/* True if this process is in the first pid namespace. In this namespace a thread has the same id as
 * for the broker. */
bool client_in_first_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == FIRST_PID_NAMESPACE;
}

uint64_t client_thread_inode(pid_t thread)
{
    struct stat status;
    struct statfs system;
    if (client_in_first_namespace())
        return 0;
    const int pidfd = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD);
    if (pidfd < 0)
        return 0;
    const bool good =
        fstatfs(pidfd, &system) == 0 && system.f_type == PIDFS && fstat(pidfd, &status) == 0;
    close(pidfd);
    return good ? status.st_ino : 0;
}

json_t *client_thread_key(pid_t thread)
{
    const uint64_t inode = client_thread_inode(thread);
    return inode == 0 ? json_integer(thread)
                      : json_pack("{s:i, s:I}", "tid", (int)thread, "inode", (json_int_t)inode);
}
