/* Who believes that something has gone because it could not be looked at takes away what was granted to it. */
#ifndef RTF_MOMENT_H
#define RTF_MOMENT_H

#include <errno.h>
#include <stdbool.h>

enum { MOMENT_TRIES = 3 };

/* The error has nothing to do with what was asked for, and the same call may succeed at once. (But EAGAIN for a file that is
 * opened for reading may tell of a lease on it.) */
static inline bool is_of_the_moment(int error)
{
    return error == EINTR || error == ENOMEM || error == ENOSPC || error == EMFILE || error == ENFILE || error == EIO ||
           error == EAGAIN;
}

#endif
