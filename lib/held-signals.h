/* Holds back fatal signals while the program has a spec in the spool, so that the program can
 * remove the spec before it ends. */
#ifndef RTF_HELD_SIGNALS_H
#define RTF_HELD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct held_signals {
    sigset_t inherited;
    int fd; /* readable when a signal is pending; only polled, so the signal stays pending */
};

/* Blocks fatal signals. A signal that was ignored or blocked before stays ignored or blocked. False
 * with errno. */
bool signals_hold(struct held_signals *signals);

/* Restores the signal mask. A signal that arrived meanwhile ends the program here. */
void signals_release(const struct held_signals *signals);

#endif
