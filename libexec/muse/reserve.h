/* Makes a reservation for the calling thread through the spool. The reservation ends with the
 * thread. */
#ifndef RTF_MUSE_RESERVE_H
#define RTF_MUSE_RESERVE_H

#include <jansson.h>
#include <stddef.h>

enum { RESERVE_WHY = 700 };

/* Returns an exit status of sysexits(3). 0: `grant` holds the grant as JSON. Another status: *why
 * has the reason. Only one thread at a time may call this function. */
int reserve_for_self(const char *spool, const char *thread, const json_t *spec, char *grant,
                     size_t size, char why[static RESERVE_WHY]);

#endif
