/* What rtf-adopter has renamed out of the way in specs/, to .aside-UID-N-NAME. It is its owner's, and never removed, unless it is one of several names of
 * a file: those go, for the file has others, and a link may be somebody else's doing. An owner of MOVED_ASIDE_MOST such makes nothing more in specs/: an access control list takes the right to write from him there (acl(5)), and leaves him the way to his
 * directory. He has it back when some are gone and specs/ is looked through again. */
#ifndef RTF_MOVED_ASIDE_H
#define RTF_MOVED_ASIDE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { MOVED_ASIDE_MOST = 64 };

/* `directory` is specs/. `told` of each uid that makes nothing more from now on; `done`: or of whom that could not be had, with errno. */
void moved_aside_begin(int directory, void (*told)(uid_t uid, bool done));

/* Renames it. False: it is still there, or has gone by itself. */
bool moved_aside_move(const char *name, uid_t uid);

/* The event that tells of such a renaming: once for each. */
bool moved_aside_was_ours(const char *name);

/* Events were lost: what they would have told of is not waited for. */
void moved_aside_expect_nothing(void);

/* Around a look at all there are. */
bool moved_aside_is(const char *name, uid_t uid);
void moved_aside_scan(void);
void moved_aside_found(const struct stat *status);
void moved_aside_scanned(void);

#endif
