/* Remembers the policy and priority that the program asked for, for each of its threads. rtf may
 * grant another priority, and always sets reset-on-fork. Some programs read their policy back and
 * end if they find another policy. */
#ifndef RTF_ASKED_H
#define RTF_ASKED_H

#include <stdbool.h>
#include <sys/types.h>

/* Notes what the program has asked for. policy: with the flag SCHED_RESET_ON_FORK if the program
 * has set the flag. */
void asked_remember(pid_t thread, int policy, int priority);

/* Forgets the thread: the program has made it ordinary. */
void asked_forget(pid_t thread);

/* Reads what the program has asked for. False: the program has asked nothing for this thread. The
 * caller checks that the thread is still real-time with reset-on-fork. */
bool asked_recall(pid_t thread, int *policy, int *priority);

#endif
