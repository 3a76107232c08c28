/* The command line of a program, by argp(3). */
#ifndef RTF_OPTIONS_H
#define RTF_OPTIONS_H

#include <argp.h>

/* As argp_parse. Wrong usage ends the program with the status `usage`; --help and --version that cannot be written with `unwritten` and a sentence,
 * where argp would say that all is well. */
error_t parse_options(const struct argp *argp, int argc, char **argv, unsigned flags, void *input, int usage, int unwritten);

#endif
