/* reuse ID COMMAND...: runs COMMAND in a process with this id, which must be free; needs root.
 * COMMAND ends with this program. */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pid_t id = argc < 3 ? 0 : atoi(argv[1]);
    int status;
    if (id <= 0)
        return EX_USAGE;
    struct clone_args arguments = {.exit_signal = SIGCHLD,
                                   .set_tid = (uintptr_t)&id,
                                   .set_tid_size = 1};
    const long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0)
        perror("reuse");
    return child < 0 || waitpid(id, &status, 0) != id ? EX_OSERR : EX_OK;
}
