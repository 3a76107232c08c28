/* The parts of the spool that belong to root. */
#ifndef RTF_SPOOL_H
#define RTF_SPOOL_H

#include <sys/types.h>

#include "reason.h"

/* The open directories of the spool. */
struct spool {
    /* the path, with unprintable bytes replaced; messages name it, and it tells this broker from
     * other brokers on the machine */
    char path[200];
    int root, specs, log, starting, alive; /* specs: only the adopter uses this descriptor */
    int lasting, state; /* lasting: state/; state: the directory of the journal (place.h), or -1 */
    gid_t group;
};

extern struct spool spool;

/* Makes the missing parts with their owners and modes (spool/manifest), opens them, and locks
 * state/ against a second broker. place_open opens the directory of the journal. Sets *lock to the
 * lock's descriptor. The attach helper shares the lock, so that the next broker starts only when
 * broker and attach helper have ended. False: *reason says why. */
bool spool_open(const char *path, gid_t group, int *lock, char reason[static REASON_BYTES]);

/* Opens state/ and takes the lock, without making missing parts. 1: done; 0: there is no such
 * spool; -1: *reason says why not. */
int spool_open_state(const char *path, int *lock, char reason[static REASON_BYTES]);

/* From spool_open on, clients see that a broker is starting. From spool_announce on, clients see
 * that a broker serves. Call spool_make_alive before the broker gives up the right to make
 * files. */
bool spool_make_alive(char reason[static REASON_BYTES]);
bool spool_announce(char reason[static REASON_BYTES]);

/* True: the file `draining` exists, by which the administrator refuses new reservations
 * (rtf-drain(8)). */
bool spool_is_draining(void);

#endif
