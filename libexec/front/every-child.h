/* A child process of rtf-every(1). The child becomes the command at the time of its activation. */
#ifndef RTF_EVERY_CHILD_H
#define RTF_EVERY_CHILD_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts a process that waits for the time of its activation, and becomes the command at that time.
 * *gate: the pipe to which every_open_gate writes the time. input: the standard input of the
 * process; -1: the standard input of rtf-every. Returns the process id; -1: the process cannot be
 * started. */
pid_t every_start_child(int input, int *gate);
bool every_open_gate(int gate, int64_t activation);

int every_pidfd(pid_t child);

/* every_status and every_finish wait until the child has ended, and return its exit status.
 * every_finish also passes signals on to the child. */
int every_status(pid_t child);
int every_finish(pid_t child);

/* Reads the signals that have come, and sends them to the child. A signal of the terminal
 * (SI_KERNEL) is not sent, because the terminal has already sent it to the child. */
void every_take_signal(pid_t child);

/* Sleeps until the time (CLOCK_MONOTONIC, us), or until one of the descriptors is ready, and renews
 * the lease of the spec meanwhile. False: the time has come. */
bool every_sleep_until(int64_t time, struct pollfd *fds, nfds_t count);

#endif
