/* A child of rtf-every(1) that becomes the command at the time of its activation. */
#ifndef RTF_EVERY_CHILD_H
#define RTF_EVERY_CHILD_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts a process that becomes the command when the time of its activation is written to *gate.
 * `input` becomes its standard input; -1: it inherits that of rtf-every. -1: it cannot be
 * started. */
pid_t every_start_child(int input, int *gate);
bool every_open_gate(int gate, int64_t activation);

int every_pidfd(pid_t child);

/* Waits for the child. Returns its exit status. every_finish passes signals on meanwhile. */
int every_status(pid_t child);
int every_finish(pid_t child);

/* Passes signals on to the child; the child has already got a signal that the terminal has sent
 * (SI_KERNEL). */
void every_take_signal(pid_t child);

/* Sleeps until the time (CLOCK_MONOTONIC, us), or until one of the descriptors is ready, and renews
 * the lease meanwhile. False: the time has come. */
bool every_sleep_until(int64_t time, struct pollfd *fds, nfds_t count);

#endif
