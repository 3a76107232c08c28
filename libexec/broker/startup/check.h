/* What rtf-brokerd does besides serving: --check and --put-back. */
#ifndef RTF_CHECK_H
#define RTF_CHECK_H

#include "command-line.h"

/* Ends the program: with rtf-lint(8), if nothing is wrong. */
__attribute__((noreturn)) void check(const struct options *options);

/* The exit status. */
int put_back(const struct options *options);

#endif
