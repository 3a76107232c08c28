/* One command at a time changes a spec: what one has written, and may have to take back, is not what another one begins with.
 *
 * Who changes NAME.json holds a lock on the file (flock(2)). A new file that takes its place is locked before anybody else can have seen it: to look which
 * file has the name, and to put one there, each takes a lock on the directory, for a moment. Files that others write are no concern of this. */
#ifndef RTF_SPEC_LOCK_H
#define RTF_SPEC_LOCK_H

#include <stdbool.h>

#include "client.h"

/* Opens NAME.json as *lock. False: there is none. Where another command does not come to its end within `timeout`, us, this one ends with 75. */
bool spec_lock(const struct client *client, const char *name, uint64_t timeout, int *lock);
void spec_unlock(int *lock);

/* Around what puts another file there. */
void spec_begin(const struct client *client);
void spec_end(const struct client *client, const char *name, int *lock);

#endif
