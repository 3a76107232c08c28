/* Transient errors. A program that takes such an error for the end of a thread would take the grant
 * away from a thread that still exists. */
#ifndef RTF_TRANSIENT_H
#define RTF_TRANSIENT_H

#include <errno.h>
#include <stdbool.h>

enum { TRANSIENT_TRIES = 3 };

/* True if the error does not concern the object of the call, and the same call may succeed if
 * repeated at once. (But EAGAIN from opening a file for reading may mean that the file has a
 * lease.) */
static inline bool is_transient(int error)
{
    return error == EINTR || error == ENOMEM || error == ENOSPC || error == EMFILE ||
           error == ENFILE || error == EIO || error == EAGAIN;
}

#endif
