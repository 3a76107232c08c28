/* rtf-as-user: runs a command as a user, for root. Commands of rtf(1) act as a user only through
 * this program.
 *
 *     rtf-as-user [OPTION...] USER COMMAND [ARGUMENT...]
 *
 * The user can signal and trace most processes that have the user's uid. So the command can reach
 * nothing that belongs to root:
 *
 *   - It has a session of its own and three pipes: no terminal, no other descriptor, nothing of
 *     root's environment.
 *   - Its group is one that the user cannot get. The kernel lets a user trace a process, look into
 *     the process or take a descriptor from it only if the process has the user's group (ptrace(2),
 *     pidfd_getfd(2), /proc/PID/fd). The process is not dumpable, either; execve(2) makes it
 *     dumpable again, but the group stays.
 *   - The user can stop it, and can make it print without end. So time and output are bounded, and
 *     rtf-as-user does not wait for a process that cannot be killed. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "confine.h"
#include "options.h"
#include "capabilities.h"
#include "units.h"
#include "version.h"

#define SECOND UINT64_C(1000000)
/* LATER: s, added to --timeout, so that a command with the same --timeout ends first; INPUT_MOST:
 * bytes, which fit into a pipe; FILE_MOST: bytes */
enum { LATER = 5, INPUT_MOST = 65536, FILE_MOST = 1 << 20, GROUPS_TRIED = 1000 };

static struct {
    const char *spool, *directory, *user;
    char **command;
    uint64_t timeout, bytes;
    bool input;
} options = {.user = "", .timeout = 30 * SECOND, .bytes = 1 << 20};

static _Noreturn void die(int status, const char *what, const char *why)
{
    fprintf(stderr, "rtf-as-user: %s: %s\n", what, why);
    exit(status);
}

/* ---- the user ---- */

static struct {
    uid_t uid;
    char name[256];
    /* own: the group of the command; spool: the group of the spool's users, -1: no group */
    gid_t own, spool;
} who = {.spool = (gid_t)-1};

static void find_user(void)
{
    uint64_t uid = 0;
    const bool is_number = parse_number(options.user, UINT32_MAX - 1, &uid);
    const struct passwd *account = is_number ? getpwuid((uid_t)uid) : getpwnam(options.user);
    if (account == NULL && !is_number)
        die(EX_NOUSER, options.user, "there is no such user");
    who.uid = account == NULL ? (uid_t)uid : account->pw_uid;
    snprintf(who.name, sizeof who.name, "%s", account == NULL ? options.user : account->pw_name);
    if (who.uid == 0)
        die(EX_USAGE, options.user, "this user is root");
}

/* Finds the group of the spool's users, which is the group of specs/. The command runs with this
 * group, too, as the programs of a member of the group do. */
static void find_spool_group(void)
{
    char specs[4096];
    struct stat status;
    snprintf(specs, sizeof specs, "%s/specs", options.spool);
    if (stat(specs, &status) != 0)
        die(EX_UNAVAILABLE, specs, strerror(errno));
    if (status.st_gid != 0)
        who.spool = status.st_gid;
}

/* ---- a group that the user cannot get ---- */

/* The highest group id of this user namespace. Some ids from 2^32 - 16 on have a meaning, so this
 * function returns a lower id. */
static gid_t last_group(void)
{
    unsigned long inside, outside, count, last = 0;
    FILE *map = fopen("/proc/self/gid_map", "re");
    while (map != NULL && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
        if (count > 0 && inside + count - 1 > last)
            last = inside + count - 1;
    if (map != NULL)
        fclose(map);
    return last < UINT32_MAX - 15 ? (gid_t)last : UINT32_MAX - 15;
}

/* True: the group is in a range of /etc/subgid, which a user may map into a user namespace. */
static bool is_subordinate(gid_t group)
{
    uint64_t first, count;
    char line[1024];
    bool found = false;
    FILE *ranges = fopen("/etc/subgid", "re");
    while (ranges != NULL && !found && fgets(line, sizeof line, ranges) != NULL) {
        char *rest = line;
        (void)strsep(&rest, ":");
        const char *text = strsep(&rest, ":"), *size = strsep(&rest, "\n");
        found = text != NULL && size != NULL && parse_number(text, UINT32_MAX, &first) &&
                parse_number(size, UINT64_MAX, &count) && group >= first && group - first < count;
    }
    if (ranges != NULL)
        fclose(ranges);
    return found;
}

/* True: the group exists, or is the group of an account. All accounts are looked at, because
 * several accounts may have the same uid, with different groups. */
static bool is_of_account(gid_t group)
{
    bool found = getgrgid(group) != NULL;
    setpwent();
    for (const struct passwd *account; !found && (account = getpwent()) != NULL;)
        found = account->pw_gid == group;
    endpwent();
    return found;
}

/* Chooses a free group. Leaves out the number of the uid, because a uid without an account mostly
 * has the group of the same number. Leaves out 65535 and 65534, because they are shared as nobody's
 * group. */
static void find_own_group(void)
{
    gid_t group = last_group();
    for (int tries = 0; tries < GROUPS_TRIED && group > 0; tries++, group--)
        if (group != who.uid && group != who.spool && group != UINT16_MAX &&
            group != UINT16_MAX - 1 && !is_subordinate(group) && !is_of_account(group)) {
            who.own = group;
            return;
        }
    die(EX_OSERR, "groups", "no group id is free for the command");
}

/* ---- the command ---- */

/* Drops all capabilities and takes the ids of the user; no system call can get root's ids back. */
static bool become_user(void)
{
    return confine_for_good() && become_unprivileged(who.uid, who.own, who.spool) &&
           prctl(PR_SET_DUMPABLE, 0) == 0;
}

static bool choose_environment(void)
{
    static const char *const kept[] = {"LANG", "LC_ALL", "NO_COLOR"};
    char *values[sizeof kept / sizeof *kept];
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = getenv(kept[i]);
        values[i] = value == NULL ? NULL : strdup(value);
    }
    bool good =
        clearenv() == 0 &&
        setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1) == 0 &&
        setenv("USER", who.name, 1) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        good = good && (values[i] == NULL || setenv(kept[i], values[i], 1) == 0);
    return good;
}

static void bound_resources(void)
{
    const struct rlimit no_core = {0, 0}, file = {FILE_MOST, FILE_MOST};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)setrlimit(RLIMIT_FSIZE, &file);
}

static _Noreturn void run_command(const int ends[3], pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    if (dup2(ends[0], 0) < 0 || dup2(ends[1], 1) < 0 || dup2(ends[2], 2) < 0 ||
        close_range(3, ~0U, 0) != 0 || setsid() < 0)
        _exit(EX_OSERR);
    bound_resources();
    umask(077);
    if (!choose_environment() || !become_user())
        die(EX_OSERR, options.user, "cannot act as this user");
    /* this signal is set after the change of ids, because the change clears it */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EX_OSERR);
    if (chdir(options.directory == NULL ? "/" : options.directory) != 0)
        die(EX_NOINPUT, options.directory, strerror(errno));
    (void)signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(options.command[0], options.command);
    die(EX_UNAVAILABLE, options.command[0], strerror(errno));
}

/* ---- output and end of the command ---- */

static struct {
    pid_t process;
    int ended, signals; /* ended: the pidfd of the command; signals: a signalfd(2) */
    int from[2];        /* standard output and standard error of the command; -1: closed */
    int64_t until;
    enum { RUNS, WAS_TERMINATED, WAS_KILLED, STAYS } step;
    /* interrupted: a signal, or 0; status: the exit status for a command that was ended, or 0 */
    int interrupted, status;
} child = {.from = {-1, -1}};

/* Signals the process group of the command. The number of the group stays valid until the
 * command is waited for. */
static void signal_child(int number)
{
    (void)kill(-child.process, number);
    (void)kill(-child.process, SIGCONT);
}

static void kill_child(int status)
{
    if (child.status == 0)
        child.status = status;
    signal_child(SIGKILL);
    child.from[0] = child.from[1] = -1;
    child.step = WAS_KILLED;
    child.until = monotonic_now() + INT64_C(1000000000);
}

static void terminate_child(void)
{
    signal_child(SIGTERM);
    child.step = WAS_TERMINATED;
    child.until = monotonic_now() + INT64_C(1000000000);
}

static void take_signal(void)
{
    struct signalfd_siginfo info;
    if (read(child.signals, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    child.interrupted = (int)info.ssi_signo;
    if (child.step == RUNS)
        terminate_child();
}

static void handle_timeout(void)
{
    switch (child.step) {
    case RUNS:
        child.status = EX_TEMPFAIL;
        fprintf(stderr, "rtf-as-user: %s: ran longer than --timeout allows, as user %s\n",
                options.command[0], options.user);
        terminate_child();
        break;
    case WAS_TERMINATED: kill_child(EX_TEMPFAIL); break;
    case WAS_KILLED:
    case STAYS: child.step = STAYS; break;
    }
}

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(fd, data, length);
        if (written < 0 && errno != EINTR)
            return false;
        data += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
    return true;
}

/* Passes on the output that is readable. False: no more output is there now, or the pipe is
 * closed. */
static bool pass_on(int which)
{
    static char data[65536];
    const ssize_t length = child.from[which] < 0 ? 0 : read(child.from[which], data, sizeof data);
    if (length < 0)
        return errno == EINTR;
    if (length == 0) {
        child.from[which] = -1;
        return false;
    }
    const size_t taken = (uint64_t)length < options.bytes ? (size_t)length : (size_t)options.bytes;
    options.bytes -= taken;
    if (!write_all(which + 1, data, taken)) {
        if (which == 0)
            fprintf(stderr, "rtf-as-user: %s: standard output cannot be written\n",
                    options.command[0]);
        kill_child(EX_IOERR);
    } else if (taken < (size_t)length) {
        fprintf(stderr, "rtf-as-user: %s: more output than --bytes allows, as user %s\n",
                options.command[0], options.user);
        kill_child(EX_DATAERR);
    } else
        return true;
    return false;
}

/* Passes on output until the command ends. The children of the command may still hold the pipes
 * open. rtf-as-user does not wait for their output. */
static void follow(void)
{
    bool has_ended = false;
    while (!has_ended && child.step != STAYS) {
        struct pollfd fds[] = {{child.ended, POLLIN, 0},
                               {child.signals, POLLIN, 0},
                               {child.from[0], POLLIN, 0},
                               {child.from[1], POLLIN, 0}};
        const int left = poll_milliseconds(child.until - monotonic_now());
        if (left == 0)
            handle_timeout();
        else if (poll(fds, 4, left) > 0) {
            if (fds[1].revents != 0)
                take_signal();
            for (int i = 0; i < 2; i++)
                if (fds[2 + i].revents != 0)
                    (void)pass_on(i);
            has_ended = fds[0].revents != 0;
        }
    }
    for (int i = 0; i < 2; i++)
        while (pass_on(i))
            ;
}

static int finish(void)
{
    int status = 0;
    (void)kill(-child.process, SIGKILL);
    const pid_t ended = waitpid(child.process, &status, WNOHANG);
    if (child.interrupted != 0)
        return 128 + child.interrupted;
    if (child.status != 0)
        return child.status;
    if (ended != child.process)
        return EX_OSERR;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- pipes ---- */

/* Puts all input and the end of file into the pipe before the command runs. */
static void put_input(int end)
{
    static char data[INPUT_MOST + 1];
    size_t length = 0;
    ssize_t got = 0;
    while (options.input && length < sizeof data &&
           (got = read(0, data + length, sizeof data - length)) > 0)
        length += (size_t)got;
    if (got < 0)
        die(EX_IOERR, "standard input", strerror(errno));
    if (length > INPUT_MOST || !write_all(end, data, length))
        die(EX_DATAERR, "standard input", "longer than 65536 bytes");
    close(end);
}

static void block_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (const int *number = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0}; *number != 0;
         number++)
        sigaddset(&signals, *number);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    child.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run(void)
{
    int input[2], output[2], messages[2];
    const pid_t self = getpid();
    if (pipe2(input, O_CLOEXEC) != 0 || fcntl(input[1], F_SETFL, O_NONBLOCK) != 0 ||
        pipe2(output, O_CLOEXEC) != 0 || pipe2(messages, O_CLOEXEC) != 0 ||
        fcntl(output[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(messages[0], F_SETFL, O_NONBLOCK) != 0)
        die(EX_OSERR, "pipe", strerror(errno));
    put_input(input[1]);
    block_signals();
    child.until = monotonic_now() + (int64_t)options.timeout * 1000;
    child.process = fork();
    if (child.process == 0)
        run_command((const int[]){input[0], output[1], messages[1]}, self);
    child.ended = child.process < 0 ? -1 : (int)syscall(SYS_pidfd_open, child.process, 0);
    if (child.ended < 0 || child.signals < 0)
        die(EX_OSERR, "fork", strerror(errno));
    close(input[0]);
    close(output[1]);
    close(messages[1]);
    child.from[0] = output[0];
    child.from[1] = messages[0];
    follow();
    return finish();
}

/* ---- command line ---- */

enum { KEY_SPOOL = 256, KEY_DIRECTORY, KEY_TIMEOUT, KEY_BYTES, KEY_INPUT };

static const struct argp_option option_table[] = {
    {"spool", KEY_SPOOL, "DIR", 0, "Run the command with the group of this spool", 0},
    {"directory", KEY_DIRECTORY, "DIR", 0,
     "Run the command in this directory, entered as the user (default: /)", 0},
    {"timeout", KEY_TIMEOUT, "TIME", 0,
     "End the command when it has run 5s longer than this time (default: 25s)", 0},
    {"bytes", KEY_BYTES, "N", 0, "Take no more output than this (default: 1048576)", 0},
    {"input", KEY_INPUT, NULL, 0, "Pass on standard input, at most 65536 bytes (default: no input)",
     0},
    {0}};

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case KEY_SPOOL: options.spool = argument; break;
    case KEY_DIRECTORY: options.directory = argument; break;
    case KEY_TIMEOUT:
        if (!parse_wait(argument, &options.timeout))
            argp_error(
                state,
                "--timeout %s: a time must be a whole number and a unit (us, ms, s, min, h or d)",
                argument);
        options.timeout += LATER * SECOND;
        break;
    case KEY_BYTES:
        if (!parse_number(argument, UINT32_MAX, &options.bytes))
            argp_error(state, "--bytes %s: this takes a whole number", argument);
        break;
    case KEY_INPUT: options.input = true; break;
    case ARGP_KEY_ARG:
        options.user = argument;
        options.command = state->argv + state->next;
        state->next = state->argc;
        break;
    case ARGP_KEY_END:
        if (options.command == NULL || options.command[0] == NULL)
            argp_error(state, "a user and a command are needed");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const char *argp_program_version = "rtf-as-user " RTF_VERSION;

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "USER COMMAND [ARGUMENT...]",
        .doc = "Run a command as a user. The command can reach nothing that belongs to root."};
    if (parse_options(&argp, argc, argv, ARGP_IN_ORDER, NULL, EX_USAGE, EX_IOERR) != 0)
        return EX_USAGE;
    if (geteuid() != 0)
        die(EX_NOPERM, options.user, "only root may act for somebody else");
    client_hold_standard_fds();
    find_user();
    if (options.spool != NULL)
        find_spool_group();
    find_own_group();
    return run();
}
