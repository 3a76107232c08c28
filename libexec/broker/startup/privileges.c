#include "privileges.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cgroup.h"
#include "confine.h"
#include "event.h"
#include "place.h"
#include "capabilities.h"
#include "spool.h"

/* The broker owns root's files and never touches users' files. It keeps IPC_LOCK, because its
 * locked memory may grow. It keeps SYS_PTRACE only on machines where /proc is mounted with hidepid,
 * because there a process without SYS_PTRACE does not see the processes of other users. */
static const int powers[] = {CAP_IPC_LOCK, -1},
                 powers_to_see[] = {CAP_IPC_LOCK, CAP_SYS_PTRACE, -1};

static const char *const calls[] = {
    /* calls to wait */
    "epoll_pwait2", "epoll_ctl", "timerfd_settime", "poll", "ppoll", "nanosleep", "clock_nanosleep",
    "restart_syscall", "clock_gettime", "clock_getres", "gettimeofday", "time", "futex", "wait4",
    "waitid", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
    /* calls to talk to the broker's helper processes */
    "read", "readv", "write", "writev", "pread64", "pwrite64", "sendmsg", "sendto", "recvmsg",
    "accept4", "getsockopt", "pipe2", "socketpair", "close", "close_range", "dup", "dup2", "dup3",
    /* files */
    "open", "openat", "openat2", "flock", "fstat", "stat", "lstat", "newfstatat", "statx",
    "fstatfs", "statfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getdents64", "lseek", "ftruncate", "fallocate", "fsync", "fdatasync", "linkat", "fchmod",
    "umask",
    /* calls to look at threads */
    "pidfd_open", "sched_getattr", "sched_getscheduler", "sched_getparam", "sched_getaffinity",
    "getpriority", "ioprio_get", "getpid", "gettid", "getuid", "geteuid", "getgid", "getegid",
    "uname", "sysinfo",
    /* calls for memory, and for the end of the process */
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "getrandom", "rseq",
    "set_robust_list", "exit", "exit_group", NULL};

/* System calls that are allowed only until the broker serves. The broker needs them while it takes
 * over the grants that an earlier broker left. */
static const char *const calls_to_begin[] = {"rename",   "renameat", "renameat2", "unlink",
                                             "unlinkat", "seccomp",  "prctl",     NULL};

static void need(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "rtf-brokerd: %s cannot be given up: %s\n", what, strerror(errno));
    exit(EX_OSERR);
}

/* Returns the directory that has the file acl.conf. acl.conf may be a link into another directory,
 * and the broker must be able to read the file there after a SIGHUP. */
static const char *directory_behind(const char *config, char path[static PATH_MAX])
{
    char link[PATH_MAX];
    snprintf(link, sizeof link, "%s/acl.conf", config);
    if (realpath(link, path) == NULL)
        return config;
    *(strrchr(path, '/') == path ? path + 1 : strrchr(path, '/')) = '\0';
    return path;
}

void privileges_drop(const char *path, const char *config)
{
    char mount[GROUP_BYTES] = "/sys", state[PATH_MAX], alive[PATH_MAX], behind[PATH_MAX];
    snprintf(state, sizeof state, "%s/state", path);
    snprintf(alive, sizeof alive, "%s/alive", path);
    (void)cgroups_find("cpuset", mount);
    const struct confine_path files[] = {{state, MAY_CHANGE},
                                         {alive, MAY_READ},
                                         {place_path(), MAY_CHANGE},
                                         {config, MAY_READ},
                                         {directory_behind(config, behind), MAY_READ},
                                         {"/proc", MAY_READ},
                                         {"/sys", MAY_READ},
                                         {mount, MAY_READ},
                                         {"/dev/null", MAY_WRITE},
                                         {0}};
    /* jansson opens a file of random numbers when it makes its first object, and the broker is
     * about to lose the right to open this file */
    json_object_seed(0);
    const bool hidden = confine_proc_is_hidden();
    need(confine_for_good(), "new privileges");
    need(capabilities_keep(hidden ? powers_to_see : powers), "capabilities");
    const char *why_not = hidden ? "/proc is mounted with hidepid" : confine_files(files);
    if (why_not != NULL)
        event_broker("warning", "broker and helper are not confined to their files (landlock): %s",
                     why_not);
    const char *all[sizeof calls / sizeof *calls + sizeof calls_to_begin / sizeof *calls_to_begin];
    size_t count = 0;
    for (size_t i = 0; calls[i] != NULL; i++)
        all[count++] = calls[i];
    for (size_t i = 0; calls_to_begin[i] != NULL; i++)
        all[count++] = calls_to_begin[i];
    all[count] = NULL;
    need(confine_calls(all), "system calls");
}

/* Only one rename stays allowed: the rename that replaces the journal by a new journal
 * (journal.h). */
void privileges_to_serve(void)
{
    const uint64_t directory = (uint64_t)spool.state, from = (uint64_t)(uintptr_t)place_journal_new,
                   to = (uint64_t)(uintptr_t)place_journal;
    const struct confine_exact renames[] = {
        {"renameat", 4, {{0, directory}, {1, from}, {2, directory}, {3, to}}},
        {"renameat2", 4, {{0, directory}, {1, from}, {2, directory}, {3, to}}},
        {0},
    };
    need(confine_calls_exactly(calls, renames), "system calls");
}
