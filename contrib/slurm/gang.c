#include "gang.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hold-words.h"

enum { PATIENCE = 1000 }; /* ms */

static pid_t mini_srun = -1;

/* Removes the variables of Slurm, except SLURM_CONF, from the environment. The mini-step must not
 * inherit --rtf, which would start another mini-step, or the layout of the step. */
static void clean_environment(void)
{
    static const char *const gone[] = {"SLURM_", "_SLURM", "SRUN_", "SPANK_"};
    char **kept = environ;
    for (char **variable = environ; *variable != NULL; variable++) {
        bool stays = true;
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
            stays &= strncmp(*variable, gone[i], strlen(gone[i])) != 0;
        if (stays || strncmp(*variable, "SLURM_CONF=", 11) == 0)
            *kept++ = *variable;
    }
    *kept = NULL;
}

/* Becomes srun(1). PR_SET_PDEATHSIG ends the mini-step if this srun is killed. The mini-step gets a
 * process group of its own: an interrupt from the terminal reaches only this srun, which ends the
 * mini-step. */
static _Noreturn void become_srun(const struct gang *gang, int output, int errors, pid_t parent)
{
    char job[32], tasks[32], name[64];
    snprintf(job, sizeof job, "--jobid=%" PRIu32, gang->job);
    snprintf(tasks, sizeof tasks, "--ntasks=%" PRIu32, gang->tasks);
    snprintf(name, sizeof name, "%" PRIu32 ".%" PRIu32, gang->job, gang->step);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
        _exit(1);
    clean_environment();
    execlp("srun", "srun", "--overlap", "--immediate=10", "--input=none", "--unbuffered",
           "--mpi=none", "--distribution=arbitrary", "--nodelist", gang->nodes, job, tasks,
           gang->holder, gang->option, name, gang->spool, NULL);
    printf(HOLD_REFUSED "cannot start srun: %s\n", strerror(errno));
    (void)fflush(stdout);
    _exit(127);
}

/* Starts the mini-step. errors: a file for the standard error of the mini-step. */
static FILE *start(const struct gang *gang, int errors)
{
    int ends[2];
    const pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    mini_srun = fork();
    if (mini_srun == 0)
        become_srun(gang, ends[1], errors, parent);
    close(ends[1]);
    FILE *const said = mini_srun < 0 ? NULL : fdopen(ends[0], "r");
    if (said == NULL)
        close(ends[0]);
    return said;
}

/* Shows the standard error of the mini-step. srun prints a line about each task that it ends. These
 * lines are of no use beside the sentence of a refusal, so they are shown only if no holder has
 * said a reason. */
static void tell_errors(int errors, void (*tell)(const char *sentence))
{
    char *line = NULL;
    size_t size = 0;
    FILE *const lines = lseek(errors, 0, SEEK_SET) == 0 ? fdopen(errors, "r") : NULL;
    tell("the step that reserves on all nodes has ended early:");
    while (lines != NULL && getline(&line, &size, lines) > 0) {
        line[strcspn(line, "\n")] = '\0';
        tell(line);
    }
    free(line);
    if (lines != NULL)
        (void)fclose(lines);
    else
        close(errors);
}

/* Returns how many tasks got a reservation before the first refusal. */
static uint32_t listen_to_holders(const struct gang *gang, FILE *said, bool *refused,
                                  void (*tell)(const char *sentence))
{
    char *line = NULL;
    size_t size = 0;
    uint32_t held = 0;
    *refused = false;
    while (held < gang->tasks && !*refused && getline(&line, &size, said) > 0) {
        line[strcspn(line, "\n")] = '\0';
        held += strcmp(line, HOLD_HELD) == 0;
        *refused = strncmp(line, HOLD_REFUSED, strlen(HOLD_REFUSED)) == 0;
        if (*refused)
            tell(line + strlen(HOLD_REFUSED));
    }
    free(line);
    return held;
}

bool gang_reserve(const struct gang *gang, void (*tell)(const char *sentence))
{
    bool refused;
    const int errors = memfd_create("rtf-slurm", MFD_CLOEXEC);
    FILE *const said = errors < 0 ? NULL : start(gang, errors);
    if (said == NULL) {
        tell(strerror(errno));
        return false;
    }
    const uint32_t held = listen_to_holders(gang, said, &refused, tell);
    (void)fclose(said);
    if (held == gang->tasks) {
        close(errors);
        return true;
    }
    (void)kill(mini_srun, SIGTERM);
    gang_end();
    if (!refused)
        tell_errors(errors, tell);
    return false;
}

/* True: the mini-step has ended by itself, as it does when the tasks have taken over all
 * reservations. The end takes some 10 ms. */
static bool ends_by_itself(void)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, mini_srun, 0), .events = POLLIN};
    const bool ended = end.fd >= 0 && poll(&end, 1, PATIENCE) > 0;
    if (end.fd >= 0)
        close(end.fd);
    return ended;
}

void gang_end(void)
{
    if (mini_srun <= 0)
        return;
    if (!ends_by_itself())
        (void)kill(mini_srun, SIGTERM);
    while (waitpid(mini_srun, NULL, 0) < 0 && errno == EINTR)
        ;
    mini_srun = -1;
}
