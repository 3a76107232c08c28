/* A file that is older than the thread with its id means an earlier thread, which has ended. */
#ifndef RTF_STALE_THREAD_ID_H
#define RTF_STALE_THREAD_ID_H

#include "request.h"

/* True: the file is older than the thread. */
bool file_is_older(const struct stamp *file, const struct identity *identity);

/* True: the file was just written, so it is not older than any thread. */
bool file_is_just_written(const struct stamp *file);

/* Call this when the file that names the thread is of another boot, or means a thread that has
 * ended. If the file is NAME.tid (by_file), the reader removes it, because it could only name a
 * wrong thread later. */
void target_is_outlived(struct request *request, bool by_file);

#endif
