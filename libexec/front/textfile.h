/* Writes a file for the textfile collector of node_exporter(1). */
#ifndef RTF_TEXTFILE_H
#define RTF_TEXTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes rtf.prom in this directory, in one step: a reader has the former text or the whole new
 * text, and a process that is killed leaves no other file. The directory may belong to a user: no
 * link in it is followed, and no file that was there before is opened. readers: the group that may
 * read the file; everybody: all users may read the file. False: errno says why. */
#define TEXTFILE_EVERYBODY ((gid_t)-1)
bool textfile_write(const char *directory, const char *text, size_t length, gid_t readers);

/* Returns the group of the directory; TEXTFILE_EVERYBODY with errno: there is no directory. */
gid_t textfile_group_of(const char *directory);

#endif
