/* Parses the command line of a program with argp(3). */
#ifndef RTF_OPTIONS_H
#define RTF_OPTIONS_H

#include <argp.h>

/* Like argp_parse, with the exit status `usage` for wrong usage. If --help or --version cannot be
 * written, the program ends with a message and the status `unwritten`; argp itself would report
 * success. */
error_t parse_options(const struct argp *argp, int argc, char **argv, unsigned flags, void *input,
                      int usage, int unwritten);

#endif
