#include "stale-thread-id.h"

#include "clock.h"

/* The largest error of the comparison, ns: the start times of threads are in clock ticks, and the
 * times of files are coarse. */
static const int64_t blur = INT64_C(20000000);

bool file_is_older(const struct stamp *file, const struct identity *identity)
{
    return file->changed + blur < thread_started(identity);
}

bool file_is_just_written(const struct stamp *file)
{
    return file->changed + blur >= realtime_now();
}
