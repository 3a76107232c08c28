#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "event.h"
#include "fatal.h"
#include "reason.h"
#include "lock-memory.h"
#include "plugin-lines.h"
#include "reservations.h"

static struct {
    char libexec[3900]; /* the directory of the programs */
    char path[4096];    /* the path that program_path has returned last */
} programs;

/* Programs are looked for in the directory of this program, so that a build tree works like an
 * installation. */
void find_libexec(void)
{
    ssize_t length = readlink("/proc/self/exe", programs.libexec, sizeof programs.libexec - 1);
    if (length < 0)
        die_errno(EX_OSERR, "/proc/self/exe");
    programs.libexec[length] = '\0';
    *strrchr(programs.libexec, '/') = '\0';
}

char *program_path(const char *name)
{
    snprintf(programs.path, sizeof programs.path, "%s/%s", programs.libexec, name);
    return programs.path;
}

/* Becomes the user `as`, who can trace no process of another uid. Returns the number of the first
 * plugin whose program this user cannot run, or the number of plugins if there is none. */
static int first_not_to_be_run(struct identity_to_run_as as)
{
    int plugin = 0;
    if (setgroups(0, NULL) != 0 || setresgid(as.gid, as.gid, as.gid) != 0 ||
        setresuid(as.uid, as.uid, as.uid) != 0)
        return plugins_count();
    while (plugin < plugins_count() && access(plugin_line(plugin)->program, X_OK) == 0)
        plugin++;
    return plugin;
}

void check_programs(struct identity_to_run_as as)
{
    char reason[REASON_BYTES];
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(first_not_to_be_run(as));
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) >= plugins_count())
        return;
    const struct plugin_line *line = plugin_line(WEXITSTATUS(status));
    snprintf(
        reason, sizeof reason,
        "plugins.conf:%d: the user of plugins (uid %u) cannot run %.200s: install rtf, or copy it to where others can enter each directory",
        line->line, as.uid, line->program);
    die(EX_CONFIG, reason);
}

void clean_process(void)
{
    struct rlimit files;
    /* opens missing standard descriptors, because otherwise a file of the spool could become a
     * program's standard output */
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            exit(EX_OSERR);
    umask(0077);
    signal(SIGPIPE, SIG_IGN);
    /* the kernel sends SIGIO to the holder of a file lease when another process opens the file */
    signal(SIGIO, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* An attached thread needs two descriptors, and a spec without a thread needs none. The limit shall
 * leave OWN descriptors for other users even when a user has --max-specs threads. The broker does
 * not start if the limit is too low for --max-specs threads, or for THREADS threads if --max-specs
 * is larger. */
void allow_descriptors(void)
{
    enum { OWN = 1024, OF_THREAD = 2, THREADS = 1000, WANTED = 524288 };
    char reason[REASON_BYTES];
    struct rlimit files = {0};
    const rlim_t all = OWN + (rlim_t)max_specs * OF_THREAD, wanted = all > WANTED ? all : WANTED,
                 least = OWN + (rlim_t)(max_specs < THREADS ? max_specs : THREADS) * OF_THREAD;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= wanted ||
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){wanted, wanted}) == 0 || files.rlim_cur >= all)
        return;
    snprintf(
        reason, sizeof reason,
        "the limit of open files (RLIMIT_NOFILE) is %llu, and the broker cannot raise it; --max-specs %d needs %llu: set this limit (systemd: LimitNOFILE=, shell: ulimit -n), or a smaller --max-specs",
        (unsigned long long)files.rlim_cur, max_specs, (unsigned long long)all);
    if (files.rlim_cur < least)
        die(EX_CONFIG, reason);
    event_broker("warning", "%s", reason);
}

/* Broker and attach helper run at a higher priority than all granted FIFO and RR threads, because
 * they must be able to end a grant. All children inherit the broker's priority, but plugins run one
 * priority below, because a plugin may loop. */
void outrank_grants(void)
{
    char reason[REASON_BYTES];
    struct sched_param param = {.sched_priority = plugins_highest_priority() + 2};
    if (param.sched_priority < 3)
        param.sched_priority = 3;
    if (sched_setscheduler(0, SCHED_FIFO, &param) == 0)
        return;
    snprintf(
        reason, sizeof reason,
        "the broker cannot run above what it grants (SCHED_FIFO, priority %d): %s; it needs CAP_SYS_NICE, and "
        "real-time runtime in its cpu cgroup (cpu.rt_runtime_us)",
        param.sched_priority, strerror(errno));
    die(EX_OSERR, reason);
}

/* Locks the broker's memory, so that the broker does not wait for the disk when it touches a page.
 * Each helper process locks its own memory. Plugins have no capabilities, but inherit an unlimited
 * RLIMIT_MEMLOCK, so that they can lock their memory, too. */
void lock_memory(void)
{
    struct rlimit unlimited = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_MEMLOCK, &unlimited) != 0)
        event_broker(
            "warning",
            "memory that plugins and the account lookup allocate later is not locked, because the limit (RLIMIT_MEMLOCK) cannot be lifted: %s",
            strerror(errno));
    if (!memory_lock(MCL_ONFAULT))
        event_broker("warning",
                     "the broker is not locked in memory, and may have to wait for the disk: %s",
                     strerror(errno));
}

/* The parent ends when the broker serves, so that the shell that started rtf-brokerd without
 * --foreground waits until then. */
int go_to_background(void)
{
    int ends[2];
    char ready;
    if (pipe2(ends, O_CLOEXEC) != 0)
        die_errno(EX_OSERR, "pipe");
    pid_t child = fork();
    if (child < 0)
        die_errno(EX_OSERR, "fork");
    if (child == 0) {
        close(ends[0]);
        setsid();
        return ends[1];
    }
    close(ends[1]);
    if (read(ends[0], &ready, 1) == 1)
        _exit(EX_OK);
    int status;
    (void)waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE);
}

void say_ready(int fd)
{
    if (fd < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i < 3; i++)
        (void)dup2(null, i);
    if (null >= 0)
        close(null);
    (void)!write(fd, "", 1);
    close(fd);
}
