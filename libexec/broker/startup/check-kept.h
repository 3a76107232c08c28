/* The part of rtf-brokerd --check that is about interfaces and disks. */
#ifndef RTF_CHECK_KEPT_H
#define RTF_CHECK_KEPT_H

#include <stdbool.h>

/* Says on standard error which lines of plugins.conf a start would turn off, and why. False: there
 * are some. */
bool check_kept(void);

#endif
