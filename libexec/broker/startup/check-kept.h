/* The part of rtf-brokerd --check that checks network interfaces and disks. */
#ifndef RTF_CHECK_KEPT_H
#define RTF_CHECK_KEPT_H

#include <stdbool.h>

/* Writes to standard error which lines of plugins.conf the broker would turn off at its start, and
 * why. False: there is such a line. */
bool check_kept(void);

#endif
