/* The end of a broker that cannot start. */
#ifndef RTF_FATAL_H
#define RTF_FATAL_H

#include <stdbool.h>

/* From then on, until the broker serves, the log gets the reason, too. */
void fatal_logged(bool logged);

__attribute__((noreturn)) void die(int code, const char *reason);
__attribute__((noreturn)) void die_errno(int code, const char *what);

#endif
