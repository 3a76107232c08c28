/* The spool itself, as far as it is root's. */
#ifndef RTF_SPOOL_H
#define RTF_SPOOL_H

#include <sys/types.h>

#include "reason.h"

/* The open directories of the spool. */
struct spool {
    char path[200]; /* as far as it is printable: for people, and to tell one broker from another */
    int root, specs, log, starting, alive; /* specs: for the adopter alone */
    int lasting, state; /* state/; and the directory of the journal (place.h), or -1 */
    gid_t group;
};

extern struct spool spool;

/* Makes what is missing, with its owners and modes (spool/manifest), opens it, and locks state/ against a
 * second broker; where the journal is, place_open finds. False: *reason. The lock's descriptor is returned for the helper, which shares it: the next
 * broker starts when both are gone. */
bool spool_open(const char *path, gid_t group, int *lock, char reason[static REASON_BYTES]);

/* Only what is in force, of a spool that is there, with the lock. 1; 0: there is none; -1: *reason. */
int spool_open_state(const char *path, int *lock, char reason[static REASON_BYTES]);

/* Only now can clients see that a broker is there; from spool_open on, that one is starting. spool_make_alive comes before privileges are given up. */
bool spool_make_alive(char reason[static REASON_BYTES]);
bool spool_announce(char reason[static REASON_BYTES]);

/* The administrator wants nothing new here, until he removes the file again: rtf-drain(8). */
bool spool_is_draining(void);

#endif
