/* Signals that would end a program wait while its spec is in the spool: the spec must not be left behind. */
#ifndef RTF_HELD_SIGNALS_H
#define RTF_HELD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct held_signals {
    sigset_t inherited;
    int fd; /* readable when one is pending; only polled, so that the signal stays pending */
};

/* A signal that was inherited as ignored or blocked stays so. False with errno. */
bool signals_hold(struct held_signals *signals);

/* A signal that came meanwhile ends the program here, as if nothing had held it back. */
void signals_release(const struct held_signals *signals);

#endif
