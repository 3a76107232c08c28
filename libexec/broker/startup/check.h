/* The other modes of rtf-brokerd: --check and --put-back. */
#ifndef RTF_CHECK_H
#define RTF_CHECK_H

#include "command-line.h"

/* Ends the program; if nothing is wrong, by running rtf-lint(8). */
__attribute__((noreturn)) void check(const struct options *options);

/* Returns the exit status. */
int put_back(const struct options *options);

#endif
