#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "adapt-change.h"
#include "client.h"
#include "command-line.h"

enum { NAME = sizeof "run-2147483647" };

/* ---- the child process ---- */

/* Leaves the process group, because the signals of the terminal are for the command only. Makes the
 * kernel end the keeper when its parent ends. */
static void be_apart(pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() != parent)
        _exit(EX_OK);
}

/* Sends standard output to standard error if the user wants to see the decisions of rtf adapt,
 * which are lines on its standard output; else to /dev/null. */
static void set_outputs(const struct keeper_order *order)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(order->is_verbose ? STDERR_FILENO : nothing, STDOUT_FILENO);
    if (order->is_silent)
        (void)dup2(nothing, STDERR_FILENO);
}

static bool thread_lives(const struct keeper_order *order)
{
    return syscall(SYS_tgkill, order->process, order->thread, 0) == 0;
}

static void reserve(const struct keeper_order *order, const char *name)
{
    char printable[8 * LEARNED_NAME];
    json_t *spec = json_pack("{s:I, s:I, s:o, s:s}", "runtime", (json_int_t)order->wish.runtime,
                             "period", (json_int_t)order->wish.period, "attach",
                             client_thread_key(order->thread), "lifetime", "thread");
    if (order->trial > 0)
        json_object_set_new(spec, "expires", json_integer((json_int_t)order->trial));
    const struct adapt_answer answer = adapt_declare(name, spec, order->least, order->timeout);
    json_decref(spec);
    if (answer.is_granted)
        return;
    if (thread_lives(order))
        command_say("thread %d (%s) goes on without a reservation: %s", (int)order->thread,
                    client_printable(order->name, printable, sizeof printable), answer.sentence);
    _exit(EX_UNAVAILABLE);
}

/* Becomes rtf-adapt, which is in the directory of this program. */
__attribute__((noreturn)) static void adapt(const struct keeper_order *order, char *name)
{
    char program[PATH_MAX + sizeof "rtf-adapt"], timeout[32];
    const ssize_t length = readlink("/proc/self/exe", program, PATH_MAX);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    snprintf(slash == NULL ? program : slash + 1, sizeof "rtf-adapt", "rtf-adapt");
    snprintf(timeout, sizeof timeout, "%lluus", (unsigned long long)order->timeout);
    char spool[PATH_MAX];
    snprintf(spool, sizeof spool, "%s", command_spool());
    char *const words[] = {program, "--spool", spool, "--timeout", timeout, name, NULL};
    if (!order->is_verbose)
        /* standard output is /dev/null: no error is printed, because the thread may end at any
         * time */
        (void)dup2(STDOUT_FILENO, STDERR_FILENO);
    execv(program, words);
    _exit(EX_OSERR);
}

__attribute__((noreturn)) static void keep(const struct keeper_order *order, int grants,
                                           pid_t parent)
{
    char name[NAME];
    snprintf(name, sizeof name, "run-%d", (int)order->thread);
    be_apart(parent);
    set_outputs(order);
    reserve(order, name);
    (void)!write(grants, &order->thread, sizeof order->thread);
    if (order->trial > 0)
        _exit(EX_OK);
    adapt(order, name);
}

/* ---- the parent ---- */

pid_t keeper_start(const struct keeper_order *order, int grants)
{
    const pid_t parent = getpid();
    (void)fflush(NULL);
    const pid_t process = fork();
    if (process == 0)
        keep(order, grants, parent);
    return process;
}

pid_t keeper_granted(int grants)
{
    pid_t thread;
    return read(grants, &thread, sizeof thread) == (ssize_t)sizeof thread ? thread : 0;
}

bool keeper_has_ended(pid_t keeper, int *status)
{
    return waitpid(keeper, status, WNOHANG) == keeper;
}

void keeper_end(pid_t keeper)
{
    (void)kill(keeper, SIGTERM);
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}
