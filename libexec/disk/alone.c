#include "alone.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>

enum { TRIES = 150, PAUSE = 20 /* ms */ };

bool alone_with(int directory, char reason[static ALONE_REASON])
{
    static int tries;
    for (; flock(directory, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK || tries >= TRIES) {
            snprintf(reason, ALONE_REASON, "another broker keeps disks on this machine, and what it has changed is there");
            return false;
        }
        (void)poll(NULL, 0, PAUSE);
    }
    return true;
}
