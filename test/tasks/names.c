/* names COUNT: COUNT processes give themselves names without end, faster than rtf-tasks reads the
 * kernel's records. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const int count = argc == 2 ? atoi(argv[1]) : 1;
    const pid_t first = getpid();
    for (int i = 1; i < count && getpid() == first; i++)
        if (fork() == 0)
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getpid() == first) {
        puts("ready");
        (void)fflush(stdout);
    }
    for (;;)
        (void)prctl(PR_SET_NAME, "a");
}
