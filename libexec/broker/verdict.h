/* NAME.verdict: what the owner is told (rtf-verdict(5)). Put in place atomically, never read back. */
#ifndef RTF_VERDICT_H
#define RTF_VERDICT_H

#include "wish.h"

/* Writes what `outcome` says of the request and what holds now, which is wish->grant and wish->attachment.
 * False with errno: the file system did not take it. */
bool verdict_write(const struct wish *wish, const struct outcome *outcome);

#endif
