/* The files of programs.d (rtf-programs(5)): program files that an administrator writes for
 * users. */
#ifndef RTF_PROGRAMS_D_PARSE_H
#define RTF_PROGRAMS_D_PARSE_H

#include <stddef.h>
#include <sys/types.h>

#include "name.h"
#include "reason.h"

/* In the spool the name of the file is admin:NAME. */
#define GIVEN_PREFIX "admin:"

struct given {
    struct given *next;
    char name[NAME_BYTES]; /* the name of the file in the spool, with the prefix */
    /* the user, or the group without @, that the file is for; NULL: not stated */
    char *user, *group;
    char *program; /* the path; NULL: the file names a cgroup, or is wrong */
    char *text;    /* the program file for the spool; NULL: the file is wrong */
    char wrong[REASON_BYTES];
};

/* Reads all files DIRECTORY/NAME.json, in the order of their names. A directory that does not exist
 * has no files. False: the directory cannot be used, and *reason says why. given_free frees the
 * list. */
bool given_read(const char *directory, struct given **list, char reason[static REASON_BYTES]);
void given_free(struct given *list);

#endif
