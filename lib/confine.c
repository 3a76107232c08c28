#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <mntent.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"

bool confine_for_good(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* ---- files ---- */

/* the headers of Debian 12 lack these definitions */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

struct ruleset {
    uint64_t files, network, scopes; /* struct landlock_ruleset_attr, as of version 6 */
};
enum { SCOPE_ABSTRACT_SOCKETS = 1, SCOPE_SIGNALS = 2 };

static const uint64_t may_read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t may_write = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
/* The rights MAKE_SYM, MAKE_CHAR and similar ones are needed for renames. The broker renames links
 * and devices that users put in the wrong place, and Landlock counts such a rename as making a link
 * or device. */
static const uint64_t may_change = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_REFER;
static const uint64_t may_replace =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
static const uint64_t never = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_IOCTL_DEV;

/* The versions of Landlock that this file uses. Version 1 is too old: it refuses every rename from
 * one directory to another, and the broker needs such a rename for each verdict. */
enum {
    VERSION_REFER = 2,
    VERSION_TRUNCATE = 3,
    VERSION_NETWORK = 4,
    VERSION_IOCTL = 5,
    VERSION_SCOPES = 6
};

static int landlock_version(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static uint64_t known(uint64_t access, int version)
{
    if (version < VERSION_TRUNCATE)
        access &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
    if (version < VERSION_IOCTL)
        access &= ~LANDLOCK_ACCESS_FS_IOCTL_DEV;
    return access;
}

static int make_ruleset(struct ruleset ruleset, int version)
{
    size_t size = version >= VERSION_SCOPES    ? sizeof ruleset
                  : version >= VERSION_NETWORK ? offsetof(struct ruleset, scopes)
                                               : sizeof ruleset.files;
    ruleset.files = known(ruleset.files, version);
    return (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
}

static bool allow(int ruleset, const char *path, uint64_t access, int version)
{
    struct stat status;
    struct landlock_path_beneath_attr beneath = {.parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (beneath.parent_fd < 0)
        return errno == ENOENT;
    if (fstat(beneath.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
        access &= LANDLOCK_ACCESS_FS_READ_FILE | may_write;
    beneath.allowed_access = known(access, version);
    bool allowed =
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
    close(beneath.parent_fd);
    return allowed;
}

static bool enter(int ruleset)
{
    bool entered = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return entered;
}

bool confine_proc_is_hidden(void)
{
    const struct mntent *entry;
    bool hidden = false; /* if several file systems are mounted on /proc, the last one counts */
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    while (mounts != NULL && (entry = getmntent(mounts)) != NULL)
        if (strcmp(entry->mnt_dir, "/proc") == 0) {
            const char *option = hasmntopt(entry, "hidepid");
            hidden = option != NULL && strncmp(option, "hidepid=0", 9) != 0 &&
                     strncmp(option, "hidepid=off", 11) != 0;
        }
    if (mounts != NULL)
        endmntent(mounts);
    return hidden;
}

const char *confine_files(const struct confine_path paths[])
{
    static const uint64_t may[] = {[MAY_READ] = may_read,
                                   [MAY_WRITE] = may_read | may_write,
                                   [MAY_CHANGE] = may_read | may_write | may_change,
                                   [MAY_REPLACE] = may_replace};
    int version = landlock_version();
    if (version < VERSION_REFER)
        return version < 0 ? strerror(errno)
                           : "the kernel's Landlock is too old; Linux 5.19 or later is needed";
    int ruleset = make_ruleset((struct ruleset){.files = may_read | may_write | may_change | never,
                                                .scopes = SCOPE_SIGNALS},
                               version);
    if (ruleset < 0)
        return strerror(errno);
    for (int i = 0; paths[i].path != NULL; i++)
        if (!allow(ruleset, paths[i].path, may[paths[i].may], version)) {
            close(ruleset);
            return strerror(errno);
        }
    return enter(ruleset) ? NULL : strerror(errno);
}

void confine_writes(void)
{
    int version = landlock_version();
    uint64_t access = may_write | may_change | (never & ~LANDLOCK_ACCESS_FS_EXECUTE);
    if (version < VERSION_REFER)
        access &= ~LANDLOCK_ACCESS_FS_REFER;
    int ruleset =
        version < 1
            ? -1
            : make_ruleset((struct ruleset){.files = access,
                                            .scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS},
                           version);
    if (ruleset < 0)
        return;
    (void)allow(ruleset, "/dev/null", may_write, version);
    (void)enter(ruleset);
}

/* ---- system calls ---- */

/* Adds a call to the filter. A name that this library, kernel or machine does not know is skipped,
 * because the call does not exist. */
static bool add_call(scmp_filter_ctx filter, uint32_t action, const char *name)
{
    const int number = seccomp_syscall_resolve_name(name);
    const int failed = number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, action, number, 0);
    return failed == 0 || failed == -EDOM || failed == -EEXIST;
}

static bool add(scmp_filter_ctx filter, uint32_t action, const char *const names[])
{
    char name[64];
    for (; *names != NULL; names++)
        for (const char *at = *names; *at != '\0';) {
            const size_t length = strcspn(at, " ");
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            if (!add_call(filter, action, name))
                return false;
            at += length + (at[length] == ' ');
        }
    return true;
}

/* Allows some calls only with certain arguments. */
static bool add_some(scmp_filter_ctx filter)
{
    static const int controls[] = {F_GETFD, F_SETFD,         F_GETFL,    F_SETFL,
                                   F_DUPFD, F_DUPFD_CLOEXEC, F_SETLEASE, F_GETLEASE};
    static const unsigned long requests[] = {TCGETS, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
                                             PERF_EVENT_IOC_PERIOD, THREAD_PIDFD_GET_INFO};
    bool added = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())) == 0 &&
                 seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                                  SCMP_A0(SCMP_CMP_EQ, 0)) == 0;
    for (size_t i = 0; added && i < sizeof controls / sizeof *controls; i++)
        added = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                                 SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)controls[i])) == 0;
    for (size_t i = 0; added && i < sizeof requests / sizeof *requests; i++)
        added = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                                 SCMP_A1(SCMP_CMP_EQ, requests[i])) == 0;
    return added;
}

static bool add_exact(scmp_filter_ctx filter, const struct confine_exact exact[])
{
    for (const struct confine_exact *call = exact; call->name != NULL; call++) {
        struct scmp_arg_cmp is[sizeof call->is / sizeof *call->is];
        const int number = seccomp_syscall_resolve_name(call->name);
        for (unsigned i = 0; i < call->count; i++)
            is[i] = SCMP_CMP(call->is[i].argument, SCMP_CMP_EQ, call->is[i].value);
        if (number >= 0 &&
            seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, call->count, is) != 0)
            return false;
    }
    return true;
}

static bool load(scmp_filter_ctx filter)
{
    bool loaded = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
                  seccomp_load(filter) == 0;
    seccomp_release(filter);
    return loaded;
}

bool confine_calls(const char *const names[])
{
    static const struct confine_exact none[] = {{0}};
    return confine_calls_exactly(names, none);
}

bool confine_calls_exactly(const char *const names[], const struct confine_exact exact[])
{
    /* System calls of the sanitizer itself. */
    static const char *const sanitizer[] = {
#ifdef __SANITIZE_ADDRESS__
        "sigaltstack clone ptrace wait4 getpid gettid sched_getaffinity readlink personality prctl",
        "tgkill open getrlimit setrlimit sched_yield dup socketpair kill mincore process_vm_readv",
        "ioctl fcntl",
#endif
        NULL};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (filter == NULL)
        return false;
    if (!add(filter, SCMP_ACT_ALLOW, names) || !add(filter, SCMP_ACT_ALLOW, sanitizer) ||
        !add_some(filter) || !add_exact(filter, exact)) {
        seccomp_release(filter);
        return false;
    }
    return load(filter);
}

/* Allows socketpair only for stream and packet sockets. A datagram socket (also SOCK_RAW) could
 * send to any path, because a filter cannot read the path in memory. */
static bool may_pair(scmp_filter_ctx filter)
{
    enum { TYPES = 0xf };
    bool added = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socketpair), 1,
                                  SCMP_A0(SCMP_CMP_NE, AF_UNIX)) == 0;
    for (int type = 0; added && type <= TYPES; type++)
        if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
            added = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socketpair), 1,
                                     SCMP_A1(SCMP_CMP_MASKED_EQ, TYPES, (scmp_datum_t)type)) == 0;
    return added;
}

bool confine_program(void)
{
    static const char *const refused[] = {
        /* network, and memory files */
        "socket bind connect listen memfd_create memfd_secret",
        /* programs in the kernel, and other processes */
        "bpf perf_event_open userfaultfd io_uring_setup",
        "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp",
        /* keys, namespaces and mounts */
        "add_key keyctl request_key unshare setns mount umount umount2 pivot_root",
        "chroot fsopen fspick open_tree move_mount mount_setattr fanotify_init open_by_handle_at",
        /* real-time scheduling and sessions */
        "sched_setscheduler sched_setparam sched_setattr sched_setaffinity setpriority ioprio_set",
        "setsid setpgid",
        /* permissions and times of files */
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat",
        "utime utimes utimensat futimesat",
        "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
        /* objects that outlive a process */
        "shmget msgget semget mq_open mq_unlink",
        /* the machine */
        "personality quotactl quotactl_fd acct reboot kexec_load kexec_file_load",
        "swapon swapoff init_module finit_module delete_module syslog vhangup lookup_dcookie",
        NULL};
    static const uint64_t name_spaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                        CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL)
        return false;
    bool added = add(filter, SCMP_ACT_ERRNO(EPERM), refused) &&
                 seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
                                  SCMP_A0(SCMP_CMP_NE, 0)) == 0 &&
                 may_pair(filter) &&
                 /* a filter cannot read clone3's flags in memory; after ENOSYS libraries use
                  * clone */
                 seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
    for (uint64_t flag = 1; added && flag != 0 && flag <= name_spaces; flag <<= 1)
        if ((name_spaces & flag) != 0)
            added = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                     SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)) == 0;
    if (!added) {
        seccomp_release(filter);
        return false;
    }
    return load(filter);
}

/* ---- resources ---- */

void confine_resources(void)
{
    static const struct {
        __rlimit_resource_t resource;
        rlim_t limit;
    } limits[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_NOFILE, 64},
        {RLIMIT_NPROC, 128},
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_SIGPENDING, 1024},
        {RLIMIT_RTTIME, 2000000},
        {RLIMIT_RTPRIO, 0},
        {RLIMIT_NICE, 0},
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer reserves terabytes of address space */
        {RLIMIT_AS, (rlim_t)1 << 30},
        {RLIMIT_DATA, (rlim_t)512 << 20},
#endif
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const struct rlimit both = {limits[i].limit, limits[i].limit};
        (void)setrlimit(limits[i].resource, &both);
    }
}
