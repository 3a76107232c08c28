/* Other commands of rtf(1) that rtf-run uses. rtf is in the directory of rtf-run. */
#ifndef RTF_BESIDE_H
#define RTF_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Becomes the program that observes the command and reserves what it needs. Returns with errno if
 * there is no such program. */
void beside_become_learner(uint64_t timeout, bool verbose, char *const command[]);

/* Starts rtf-adapt(1) for the reservation. That process is no child of this one, has no terminal,
 * and ends with the thread. False with errno. */
bool beside_start_adapt(const char *name);

#endif
