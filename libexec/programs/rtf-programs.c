/* rtf-programs: gives the program files of programs.d (rtf-programs(5)) to their users. It writes
 * each file into the directories of these users in the spool, as admin:NAME.json, and removes the
 * files that are not given any more. From then on the file is like any program file of the user.
 *
 * The broker starts rtf-programs when the broker itself starts, and at each reload. rtf-programs
 * does its work once, and ends.
 *
 *     rtf-programs give CONFIG SPOOL    descriptor 0: a socket to the broker, which gets paragraphs
 *                                       with decision= and reason=, for the log; descriptor 3: the
 *                                       directory of the record of what was given
 *     rtf-programs check CONFIG         for rtf-brokerd --check: prints what is wrong, and exits
 *                                       with 78 if anything is wrong
 *     rtf-programs lint CONFIG          prints what may be a mistake
 *
 * Attack surface: files of root, and the directories of users. rtf-programs reads all files of
 * root, and looks up all accounts, before any child starts: the modules of the account database may
 * need any file and socket. After that, this process and its children can open nothing but specs/,
 * the record and /proc. A child with the rights of the user, and no other rights, works in the
 * user's directory. The user can stop it, so each child has a time limit, and children of different
 * users run at the same time. */
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "capabilities.h"
#include "clock.h"
#include "confine.h"
#include "programs-d-parse.h"
#include "programs-d-users.h"
#include "paragraph.h"
#include "send-fds.h"
#include "units.h"
#include "usage.h"
#include "worker.h"

enum { SOCKET = 0, STATE = 3, AT_ONCE = 32, PATH_BYTES = 4096 };
static const int64_t child_within = INT64_C(5000000000); /* ns */
static const int look_within = 2000;                     /* ms */

/* ---- to the broker ---- */

static void tell_broker(const char *decision, const char *sentence)
{
    struct paragraph_output output = {0};
    char clean[REASON_BYTES];
    snprintf(clean, sizeof clean, "%s", sentence);
    paragraph_add(&output, "decision", decision);
    paragraph_add(&output, "reason", paragraph_clean(clean));
    paragraph_close(&output);
    (void)send_with_fd(SOCKET, output.data, output.length, -1, MSG_NOSIGNAL);
    paragraph_output_free(&output);
}

static void tell_user(uid_t uid, const char *why)
{
    char sentence[REASON_BYTES];
    (void)fault_in(sentence, sizeof sentence,
                   "the files of programs.d for uid %u are not all in force: %s", (unsigned)uid,
                   why);
    tell_broker("warning", sentence);
}

/* ---- a child for each user ---- */

struct child {
    uid_t uid;
    pid_t process;
    int ended; /* a pidfd; -1: there is no child */
    int64_t until;
};
static struct {
    const char *spool;
    gid_t group; /* the group of the spool's users; -1: none */
    struct child children[AT_ONCE];
} work = {.group = (gid_t)-1};

static const char *why_not(int status)
{
    if (!WIFEXITED(status))
        return "writing the directory of the user took too long";
    return WEXITSTATUS(status) == EX_OK ? NULL : "the directory of the user cannot be written";
}

static void end_child(struct child *child, bool is_late)
{
    int status = 0;
    if (is_late)
        (void)kill(child->process, SIGKILL);
    /* A killed process may take long to end, so it is not waited for. */
    const bool has_ended = !is_late && waitpid(child->process, &status, 0) == child->process;
    const char *why =
        has_ended ? why_not(status) : "writing the directory of the user took too long";
    if (why != NULL)
        tell_user(child->uid, why);
    close(child->ended);
    child->ended = -1;
}

/* Waits until a child ends or is late. */
static void wait_for_one(void)
{
    struct pollfd fds[AT_ONCE];
    int64_t until = INT64_MAX;
    for (int i = 0; i < AT_ONCE; i++) {
        fds[i] = (struct pollfd){.fd = work.children[i].ended, .events = POLLIN};
        if (work.children[i].ended >= 0 && work.children[i].until < until)
            until = work.children[i].until;
    }
    if (until == INT64_MAX)
        return;
    (void)poll(fds, AT_ONCE, poll_milliseconds(until - monotonic_now()));
    const int64_t now = monotonic_now();
    for (int i = 0; i < AT_ONCE; i++)
        if (work.children[i].ended >= 0 && (fds[i].revents != 0 || work.children[i].until <= now))
            end_child(&work.children[i], fds[i].revents == 0);
}

static struct child *free_child(void)
{
    for (;;) {
        for (int i = 0; i < AT_ONCE; i++)
            if (work.children[i].ended < 0)
                return &work.children[i];
        wait_for_one();
    }
}

static bool any_child(void)
{
    for (int i = 0; i < AT_ONCE; i++)
        if (work.children[i].ended >= 0)
            return true;
    return false;
}

/* The child keeps no descriptor of this process. */
static _Noreturn void be_child(const struct order *orders, size_t count)
{
    const int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        close_range(3, ~0U, 0) != 0)
        _exit(EX_OSERR);
    umask(077);
    _exit(worker_run(work.spool, work.group, orders, count));
}

static void start_child(const struct order *orders, size_t count)
{
    struct child *child = free_child();
    const pid_t process = fork();
    if (process == 0)
        be_child(orders, count);
    *child = (struct child){.uid = orders->uid,
                            .process = process,
                            .until = monotonic_now() + child_within,
                            .ended = process < 0 ? -1 : (int)syscall(SYS_pidfd_open, process, 0)};
    if (child->ended < 0)
        tell_user(orders->uid, "no further process can be started (fork or pidfd_open failed)");
}

static void carry_out(const struct orders *orders)
{
    size_t next;
    for (size_t i = 0; i < orders->count; i = next) {
        for (next = i + 1; next < orders->count; next++)
            if (orders->list[next].uid != orders->list[i].uid)
                break;
        start_child(&orders->list[i], next - i);
    }
    while (any_child())
        wait_for_one();
}

/* ---- give ---- */

static void tell_wrong(const struct given *list)
{
    char sentence[REASON_BYTES];
    for (; list != NULL; list = list->next)
        if (list->text == NULL) {
            (void)fault_in(sentence, sizeof sentence, "%.440s; the file in force stays",
                           list->wrong);
            tell_broker("error", sentence);
        }
}

/* Members of the group of specs/ may use the spool. */
static bool find_group(void)
{
    char specs[PATH_BYTES];
    struct stat status;
    snprintf(specs, sizeof specs, "%s/specs", work.spool);
    if (stat(specs, &status) != 0)
        return false;
    if (status.st_gid != 0)
        work.group = status.st_gid;
    return true;
}

/* Takes from this process and its children all rights that they do not need. Each child gives up
 * more rights in worker.c. */
static bool confine(void)
{
    static const char *const calls[] = {
        (CONFINE_HELPER), /* one string of several lines */
        /* the record, and a child's files */
        "umask renameat renameat2 unlinkat linkat mkdirat open_tree statx getrandom",
        /* to start, await and end children; a child then becomes its user */
        "set_robust_list rseq wait4 kill dup2 dup3 close_range",
        "setgroups setresuid setresgid setuid getuid geteuid getgid getegid",
        "capget capset prctl seccomp", NULL};
    /* fork(3), and neither a thread nor a namespace */
    static const struct confine_exact exact[] = {
        {"clone", 1, {{0, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD}}}, {0}};
    char specs[PATH_BYTES];
    const struct confine_path files[] = {{specs, MAY_CHANGE},
                                         {"/proc/self/fd/3", MAY_CHANGE},
                                         {"/proc", MAY_READ},
                                         {"/dev/null", MAY_WRITE},
                                         {0}};
    snprintf(specs, sizeof specs, "%s/specs", work.spool);
    (void)confine_files(files); /* the broker reports a kernel without Landlock */
    return confine_calls_exactly(calls, exact);
}

static int give(const char *directory, const char *spool)
{
    /* SETUID, SETGID, SETPCAP: a child becomes its user. KILL: a child is ended. */
    static const int powers[] = {CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL, -1};
    char reason[REASON_BYTES];
    struct given *list;
    struct orders orders = {0}, before = {0};
    work.spool = spool;
    if (!find_group() || !confine_for_good() || !capabilities_keep(powers))
        return EX_OSERR;
    if (!given_read(directory, &list, reason)) {
        tell_broker("error", reason);
        return EX_CONFIG;
    }
    orders_for(&orders, list, tell_broker);
    if (!record_read(STATE, &before))
        tell_broker(
            "error",
            "state/programs cannot be read: files that the administrator no longer gives stay in the users' directories");
    orders_compare(&orders, &before, list);
    orders_look_up(&orders);
    if (!confine())
        return EX_OSERR;
    tell_wrong(list);
    /* The record is written first: if this process is killed, the next run finds which files were
     * given. */
    const bool recorded = record_write(STATE, &orders, false);
    carry_out(&orders);
    if (!recorded || !record_write(STATE, &orders, true))
        tell_broker("error", "state/programs cannot be written");
    orders_free(&orders);
    orders_free(&before);
    given_free(list);
    return EX_OK;
}

/* ---- check and lint ---- */

static void print(const char *decision, const char *sentence)
{
    (void)decision;
    puts(sentence);
}

static int check(const char *directory)
{
    char reason[REASON_BYTES];
    struct given *list;
    int status = EX_OK;
    if (!given_read(directory, &list, reason)) {
        fprintf(stderr, "rtf-brokerd: %s\n", reason);
        return EX_CONFIG;
    }
    for (const struct given *given = list; given != NULL; given = given->next)
        if (given->text == NULL) {
            fprintf(stderr, "rtf-brokerd: %s\n", given->wrong);
            status = EX_CONFIG;
        }
    given_free(list);
    return status;
}

static _Noreturn void be_looker(const char *program)
{
    /* so that a reader of the output does not wait for this process */
    (void)close_range(0, ~0U, 0);
    _exit(access(program, X_OK) == 0 ? EX_OK : EX_NOINPUT);
}

/* Looks whether the program exists. The owner of a directory in its path can keep a look-up waiting
 * as long as they like, and a waiting process cannot be ended. So another process looks. */
static const char *wrong_program(const char *program)
{
    int status = 0;
    const pid_t process = fork();
    if (process == 0)
        be_looker(program);
    struct pollfd ended = {.fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_open, process, 0),
                           .events = POLLIN};
    const bool is_known = ended.fd >= 0 && poll(&ended, 1, look_within) == 1 &&
                          waitpid(process, &status, 0) == process && WIFEXITED(status);
    if (ended.fd >= 0)
        close(ended.fd);
    if (!is_known)
        return "2 s were not enough to look up the program";
    return WEXITSTATUS(status) == EX_OK ? NULL : "there is no program";
}

static void lint_one(const struct given *given)
{
    char sentence[REASON_BYTES];
    if (given->text == NULL)
        puts(given->wrong);
    const char *wrong = given->program == NULL ? NULL : wrong_program(given->program);
    if (wrong == NULL)
        return;
    (void)fault_in(sentence, sizeof sentence, "programs.d/%s.json: %s %.300s",
                   given->name + strlen(GIVEN_PREFIX), wrong, given->program);
    print("warning", sentence);
}

static int lint(const char *directory)
{
    char reason[REASON_BYTES];
    struct given *list;
    struct orders orders = {0};
    if (!given_read(directory, &list, reason)) {
        puts(reason);
        return EX_OK;
    }
    orders_for(&orders, list, print);
    for (const struct given *given = list; given != NULL; given = given->next)
        lint_one(given);
    orders_free(&orders);
    given_free(list);
    return EX_OK;
}

int main(int argc, char **argv)
{
    static const char how[] = "give CONFIG SPOOL | check CONFIG | lint CONFIG";
    char directory[PATH_BYTES];
    int status;
    if (usage_asked(argc, argv, "rtf-programs", how, &status))
        return status;
    snprintf(directory, sizeof directory, "%s/programs.d", argc > 2 ? argv[2] : "");
    for (int i = 0; i < AT_ONCE; i++)
        work.children[i].ended = -1;
    if (argc == 4 && strcmp(argv[1], "give") == 0)
        return give(directory, argv[3]);
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return check(directory);
    if (argc == 3 && strcmp(argv[1], "lint") == 0)
        return lint(directory);
    fprintf(stderr, "usage: rtf-programs %s\n", how);
    return EX_USAGE;
}
