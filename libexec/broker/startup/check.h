/* The other modes of rtf-brokerd: --check and --put-back. */
#ifndef RTF_CHECK_H
#define RTF_CHECK_H

#include "command-line.h"

/* Checks the configuration and ends the program. If the configuration has no fault, the program
 * executes rtf-lint(8). */
__attribute__((noreturn)) void check(const struct options *options);

/* Restores all settings of the kernel that a dead broker has left changed. Returns the exit
 * status. */
int put_back(const struct options *options);

#endif
