#include "way.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

enum { TRIES = 150, PAUSE = 20 /* ms */ };

bool way_hold(int directory, char reason[static SERVE_REASON])
{
    static int tries;
    for (; flock(directory, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK || tries >= TRIES) {
            snprintf(reason, SERVE_REASON, "another broker keeps disks on this machine, and what it has changed is there");
            return false;
        }
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

enum done way_identify(const struct member *member, bool bind, struct identity *identity, char reason[static SERVE_REASON])
{
    if (!thread_identify(member->tid, identity))
        return way_failed(reason, "the thread cannot be looked at");
    if (identity->ended || identity->start > member->started_by)
        return GONE;
    return bind && (identity->kernel || !thread_is_of(identity, member->owner)) ? refuse(reason, "the thread is not its user's own") : DONE;
}
