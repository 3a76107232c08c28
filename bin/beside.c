#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command-line.h"

enum { PROGRAM = PATH_MAX + sizeof "rtf" };

static const char *find_rtf(char path[static PROGRAM])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash == NULL ? path : slash + 1, sizeof "rtf", "rtf");
    return path;
}

void beside_become_learner(uint64_t timeout, bool verbose, char *const command[])
{
    char path[PROGRAM], limit[32];
    size_t words = 0, count = 0;
    while (command[words] != NULL)
        words++;
    const char **all = calloc(words + 16, sizeof *all);
    if (all == NULL)
        return;
    all[count++] = find_rtf(path);
    if (command_states_spool()) {
        all[count++] = "--spool";
        all[count++] = command_spool();
    }
    snprintf(limit, sizeof limit, "%lluus", (unsigned long long)timeout);
    all[count++] = "--run-learn";
    all[count++] = "--timeout";
    all[count++] = limit;
    if (verbose)
        all[count++] = "--verbose";
    all[count++] = "--";
    memcpy(all + count, command, words * sizeof *all);
    execv(path, (char *const *)all);
    free(all);
}

/* Becomes rtf adapt. setsid(2) keeps signals of the terminal away from this process. The process
 * has /dev/null in place of rtf-run's outputs, so that a reader of these outputs does not wait for
 * the end of the process. */
__attribute__((noreturn)) static void be_adapt(const char *path, const char *name)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)dup2(nothing, fd);
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    (void)execl(path, path, "--spool", command_spool(), "adapt", name, (char *)NULL);
    _exit(1);
}

bool beside_start_adapt(const char *name)
{
    char path[PROGRAM];
    const pid_t process = fork();
    if (process == 0)
        be_adapt(find_rtf(path), name);
    while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR)
        ;
    return process > 0;
}
