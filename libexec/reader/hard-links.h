/* Refuses a NAME.json with a second name (hard link), because through a name in an unwatched
 * directory the file could be changed unnoticed. */
#ifndef RTF_READER_HARD_LINKS_H
#define RTF_READER_HARD_LINKS_H

#include "files.h"

/* Returns the time until which the reader waits for the removal of the second name; 0: the file has
 * one name, or is wrong. The removal causes an event of the file itself. until: the time that the
 * last call returned for this file. */
int64_t hard_link_awaited(const struct content *content, const struct file *file, int64_t until);

/* Makes the file wrong if it has two names. */
void refuse_two_names(const char *name, const struct content *content, struct file *json);

#endif
