/* Recognizes transient errors. A program must not take such an error for the end of a thread: it
 * would take the grant away from a thread that still exists. */
#ifndef RTF_TRANSIENT_H
#define RTF_TRANSIENT_H

#include <errno.h>
#include <stdbool.h>

enum { TRANSIENT_TRIES = 3 };

/* True if the error tells nothing about the object of the call, such as a file or a thread, and the
 * same call may succeed if it is repeated at once. (But EAGAIN from opening a file for reading may
 * mean that the file has a lease.) */
static inline bool is_transient(int error)
{
    return error == EINTR || error == ENOMEM || error == ENOSPC || error == EMFILE ||
           error == ENFILE || error == EIO || error == EAGAIN;
}

#endif
