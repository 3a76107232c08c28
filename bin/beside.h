/* Starts other commands of rtf(1) for rtf-run. The program rtf is in the directory of rtf-run. */
#ifndef RTF_BESIDE_H
#define RTF_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Replaces this process by the program that observes the command and reserves what the command
 * needs. Returns only if there is no such program, with errno. */
void beside_become_learner(uint64_t timeout, bool verbose, char *const command[]);

/* Starts rtf-adapt(1) for the reservation `name`. The new process is no child of this process, has
 * no terminal, and ends with the thread. False: errno says why. */
bool beside_start_adapt(const char *name);

#endif
