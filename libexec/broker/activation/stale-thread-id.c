#include "stale-thread-id.h"

#include "clock.h"
#include "readers.h"

/* ns. The kernel's clock tick and the coarse times of files make the comparison inexact. */
static const int64_t blur = INT64_C(20000000);

bool file_is_older(const struct stamp *file, const struct identity *identity)
{
    return file->changed + blur < thread_started(identity);
}

bool file_is_just_written(const struct stamp *file)
{
    return file->changed + blur >= realtime_now();
}

void target_is_outlived(struct request *request, bool by_file)
{
    request->activation.why_not = TARGET_OUTLIVED;
    if (!by_file)
        return;
    /* the reader removes the file only if it still has this stamp, because the owner may have
     * written it again */
    reader_remove(request->reservation->user, request->reservation->name, "tid",
                  &request->tid.stamp);
    request->tid.stamp = (struct stamp){0};
}
