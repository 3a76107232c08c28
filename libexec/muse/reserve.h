/* A reservation for the calling thread, through the spool, that ends with it. */
#ifndef RTF_MUSE_RESERVE_H
#define RTF_MUSE_RESERVE_H

#include <jansson.h>
#include <stddef.h>

enum { RESERVE_WHY = 700 };

/* An exit status of sysexits(3); if it is 0, `grant` has what was granted, as JSON. One thread at a time. */
int reserve_for_self(const char *spool, const char *thread, const json_t *spec, char *grant, size_t size, char why[static RESERVE_WHY]);

#endif
