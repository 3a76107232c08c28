/* What two brokers would share and only one may have: the lock is on that itself, and ends with its holder. */
#ifndef RTF_ALONE_H
#define RTF_ALONE_H

#include <stdbool.h>

enum { ALONE_REASON = 256 };

/* One who is just ending may be putting things back, and is waited for once. False: *reason. */
bool alone_with(int directory, char reason[static ALONE_REASON]);

#endif
