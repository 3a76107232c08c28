#include "held-signals.h"

#include <stddef.h>
#include <sys/signalfd.h>

bool signals_hold(struct held_signals *signals)
{
    static const int fatal[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGALRM, SIGPIPE, SIGUSR1, SIGUSR2};
    sigset_t held;
    sigemptyset(&held);
    sigprocmask(SIG_BLOCK, NULL, &signals->inherited);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        struct sigaction action;
        if (sigaction(fatal[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
            sigismember(&signals->inherited, fatal[i]) == 0)
            sigaddset(&held, fatal[i]);
    }
    sigprocmask(SIG_BLOCK, &held, NULL);
    signals->fd = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

void signals_release(const struct held_signals *signals)
{
    sigprocmask(SIG_SETMASK, &signals->inherited, NULL);
}
