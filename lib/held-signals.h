/* Holds back fatal signals while the program has a spec in the spool, so that the program can
 * remove the spec before it ends. */
#ifndef RTF_HELD_SIGNALS_H
#define RTF_HELD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct held_signals {
    sigset_t inherited;
    /* readable when a signal is pending; callers only poll it, so the signal stays pending */
    int fd;
};

/* Blocks fatal signals. A signal that was ignored or blocked before stays ignored or blocked.
 * False: errno says why. */
bool signals_hold(struct held_signals *signals);

/* Restores the signal mask. If a fatal signal has arrived meanwhile, the program ends in this
 * function. */
void signals_release(const struct held_signals *signals);

#endif
