#include "way.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "register.h"

enum { TRIES = 150, PAUSE = 20 /* ms */ };

bool way_hold(const char *lock, char reason[static SERVE_REASON])
{
    static int held = -1, tries;
    for (; held < 0 && (held = register_lock(lock)) < 0; tries++) {
        if (errno != EWOULDBLOCK)
            snprintf(reason, SERVE_REASON,
                     "the lock of the machine's disks cannot be taken (%s/%s): %s", REGISTER, lock,
                     strerror(errno));
        else if (tries >= TRIES)
            snprintf(reason, SERVE_REASON, "another broker manages the disks of this machine");
        if (errno != EWOULDBLOCK || tries >= TRIES)
            return false;
        (void)poll(NULL, 0, PAUSE);
    }
    return true;
}

enum done way_failed(char reason[static SERVE_REASON], const char *what)
{
    if (errno == ESRCH || errno == ENOENT)
        return GONE;
    snprintf(reason, SERVE_REASON, "%s: %s", what, strerror(errno));
    return REFUSED;
}

enum done way_identify(const struct member *member, bool bind, struct identity *identity,
                       char reason[static SERVE_REASON])
{
    if (!thread_identify(member->tid, identity))
        return way_failed(reason, "the thread's state cannot be read");
    if (identity->ended || identity->start > member->started_by)
        return GONE;
    return bind && (identity->kernel || !thread_is_of(identity, member->owner))
               ? refuse(reason, "the thread does not belong to the user")
               : DONE;
}
