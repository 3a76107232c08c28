/* Ends a broker that cannot start, with the reason on standard error. */
#ifndef RTF_FATAL_H
#define RTF_FATAL_H

#include <stdbool.h>

/* logged: from now on, `die` and `die_errno` also write the reason to the log. The broker sets this
 * when the log can be written, and clears it when the broker serves. */
void fatal_logged(bool logged);

__attribute__((noreturn)) void die(int code, const char *reason);
__attribute__((noreturn)) void die_errno(int code, const char *what);

#endif
