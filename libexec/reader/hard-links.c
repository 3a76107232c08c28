#include "hard-links.h"

#include <stdio.h>

#include "clock.h"

/* For this time a file may have two names (ns): ln and rm together act like mv, and some programs
 * link a file into place and then remove its first name. */
static const int64_t two_names_for = INT64_C(1000000000);

int64_t hard_link_awaited(const struct content *content, const struct file *file, int64_t until)
{
    if (!content->has_two_names || file->state == FILE_BAD)
        return 0;
    return until != 0 ? until : monotonic_now() + two_names_for;
}

void refuse_two_names(const char *name, const struct content *content, struct file *json)
{
    if (!content->has_two_names || json->state == FILE_BAD)
        return;
    json->state = FILE_BAD;
    snprintf(json->reason, sizeof json->reason,
             "%s.json has a second name (hard link), by which it could be changed unseen: "
             "remove the second name, and touch this file",
             name);
}
