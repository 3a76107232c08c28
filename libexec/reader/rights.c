#include "rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"

int rights_inotify(uid_t owner)
{
    int inotify = -1;
    if (seteuid(owner) == 0)
        inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (seteuid(0) != 0)
        return -1;
    return inotify >= 0 ? inotify : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

static bool keep(uint32_t power)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    const struct __user_cap_data_struct powers[_LINUX_CAPABILITY_U32S_3] = {
        {.effective = power, .permitted = power}};
    return syscall(SYS_capset, &header, powers) == 0;
}

/* Takes the uid and gid of the reader, and the owner's uid for files. Calls setfsuid after
 * setresuid, because setresuid sets the fsuid, too. Calls setfsuid before CAP_SETUID is dropped,
 * because setfsuid needs this capability. */
static bool change_ids(uid_t owner, uid_t uid, gid_t gid)
{
    for (int power = 0; power <= CAP_LAST_CAP; power++)
        (void)prctl(PR_CAPBSET_DROP, power); /* the kernel may not know the highest numbers */
    if (prctl(PR_SET_KEEPCAPS, 1) != 0 || setgroups(0, NULL) != 0 ||
        setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return false;
    if (!keep(CAP_TO_MASK(CAP_SETUID)))
        return false;
    (void)setfsuid(owner);
    if (!keep(0))
        return false;
    errno = EPERM;
    /* checks that root cannot be regained */
    return (uid_t)setfsuid((uid_t)-1) == owner && setresuid(0, 0, 0) != 0;
}

/* Kills this reader when the launcher ends. Otherwise old readers would go on with the broker's
 * last requests while the next broker starts new readers, and could remove a new verdict. The
 * kernel clears this setting when ids change, so call this after change_ids. */
static bool end_with(pid_t launcher)
{
    errno = ESRCH;
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == launcher;
}

bool rights_become(uid_t owner, uid_t uid, gid_t gid, int directory)
{
    static const struct confine_path only[] = {{"/proc/self/fd/3", MAY_CHANGE}, {0}};
    static const char *const calls[] = {"poll",
                                        "ppoll",
                                        "read",
                                        "recvmsg",
                                        "sendmsg",
                                        "write",
                                        "openat2",
                                        "open",
                                        "openat",
                                        "close",
                                        "pidfd_open",
                                        "open_by_handle_at",
                                        "fstat",
                                        "newfstatat",
                                        "statx",
                                        "pread64",
                                        "getdents64",
                                        "lseek",
                                        "unlink",
                                        "unlinkat",
                                        "rename",
                                        "renameat",
                                        "renameat2",
                                        "utimensat",
                                        "inotify_add_watch",
                                        "inotify_rm_watch",
                                        "clock_gettime",
                                        "brk",
                                        "mmap",
                                        "munmap",
                                        "mremap",
                                        "madvise",
                                        "mprotect",
                                        "futex",
                                        "getrandom",
                                        "rt_sigreturn",
                                        "rt_sigprocmask",
                                        "restart_syscall",
                                        "exit",
                                        "exit_group",
                                        "getpid",
                                        "gettid",
                                        NULL};
    const pid_t launcher = getppid();
    if (fchdir(directory) != 0 || !confine_for_good())
        return false;
    (void)confine_files(only); /* the broker reports a missing Landlock */
    return change_ids(owner, uid, gid) && end_with(launcher) && confine_calls(calls);
}
