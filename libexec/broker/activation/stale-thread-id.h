/* The kernel gives the id of an ended thread to a later thread. So if a file that names a thread id
 * is older than the thread with this id, the file means an earlier thread, which has ended. */
#ifndef RTF_STALE_THREAD_ID_H
#define RTF_STALE_THREAD_ID_H

#include <stdbool.h>

#include "snapshot.h"
#include "thread.h"

/* True: the file is older than the thread. */
bool file_is_older(const struct stamp *file, const struct identity *identity);

/* True: the file was just written, so it is not older than any thread. */
bool file_is_just_written(const struct stamp *file);

#endif
