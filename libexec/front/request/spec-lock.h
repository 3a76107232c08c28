/* These locks let commands of rtf change a spec only one after another. A command undoes its change
 * if the broker refuses it. So no other command may read the refused spec and build its own change
 * on it.
 *
 * A command that changes NAME.json holds a lock on the file (flock(2)). A change replaces NAME.json
 * by a new file. The command must lock the new file before another command opens it. So each
 * command locks the directory while it opens and locks NAME.json, and also while it replaces
 * NAME.json and locks the new file. Other programs take no such locks. */
#ifndef RTF_SPEC_LOCK_H
#define RTF_SPEC_LOCK_H

#include <stdbool.h>

#include "client.h"

/* Opens and locks NAME.json; *lock is the descriptor. False: there is no such spec. If another
 * command holds the lock for `timeout` us, the process ends with EX_TEMPFAIL. */
bool spec_lock(const struct client *client, const char *name, uint64_t timeout, int *lock);
void spec_unlock(int *lock);

/* spec_begin locks the directory before NAME.json is replaced. spec_end moves *lock to the new
 * file, and unlocks the directory. */
void spec_begin(const struct client *client);
void spec_end(const struct client *client, const char *name, int *lock);

#endif
