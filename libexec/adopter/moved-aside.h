/* Moves files out of the way in specs/: renames them to .aside-UID-N-NAME. A moved file still
 * belongs to its owner and is never removed, with one exception: if the moved name is one of
 * several hard links of a file, this name is removed. The file keeps its other names, and another
 * user may have made the removed link.
 *
 * A user who owns MOVED_ASIDE_MOST moved files cannot make anything more in specs/: an access
 * control list (acl(5)) takes the write permission from that user, and leaves the permission to
 * reach the user's directory. The user gets the permission back when moved files have been removed
 * and specs/ is scanned again. */
#ifndef RTF_MOVED_ASIDE_H
#define RTF_MOVED_ASIDE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { MOVED_ASIDE_MOST = 64 };

/* Call this before the other functions. directory: a descriptor of specs/, which the caller still
 * owns. `told` is called for each uid that loses the write permission; done = false: setting the
 * ACL failed, with errno. */
void moved_aside_begin(int directory, void (*told)(uid_t uid, bool done));

/* Renames the file `name`, whose owner is `uid`. False: the file is still there, or has gone. */
bool moved_aside_move(const char *name, uid_t uid);

/* True, once for each renamed file: the inotify event for `name` comes from our renaming. */
bool moved_aside_take_event(const char *name);

/* Call this when the kernel has lost events: forgets the renamings that still await an event. */
void moved_aside_forget_events(void);

/* These functions count the moved files of each owner: call moved_aside_begin_count, then
 * moved_aside_count for each file, then moved_aside_end_count, which gives and takes permissions.
 * moved_aside_is: `name` has the form of a moved file of `uid`. */
bool moved_aside_is(const char *name, uid_t uid);
void moved_aside_begin_count(void);
void moved_aside_count(const struct stat *status);
void moved_aside_end_count(void);

#endif
