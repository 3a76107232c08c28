/* The users' directories in specs/: to which user a directory belongs, and which users may have a
 * directory. The adopter (libexec/adopter/rtf-adopter.c) reports the content of specs/, and renames
 * and changes modes there; the broker itself looks up no path in specs/. */
#ifndef RTF_DIRECTORIES_H
#define RTF_DIRECTORIES_H

#include "names.h"
#include "reservation.h"

/* directories_prepare: adds the adopter to the launcher's programs, before the launcher is forked.
 * directories_start: starts the adopter afterwards. */
void directories_prepare(char *path);
bool directories_start(void);

/* The first user whose directory exists; the next one is user->hh.next. */
struct user *users_first(void);
struct user *user_find(const char *name);

/* Closes a user without reservations. users_sweep frees the user after the events of this turn,
 * which may still concern the user. */
void user_close(struct user *user);
void users_sweep(void);

/* Call this when the account is known. Adopts each directory of this account, moves it aside, or
 * ignores it. */
void directories_of(struct account *account);

/* Call this after a SIGHUP. Has the adopter report specs/ again, and has readers look through all
 * directories. */
void directories_rescan(void);

/* true: directories are adopted, but no reader looks into them, because the broker first takes over
 * the grants of the earlier broker. false: readers look into the adopted directories. */
void directories_hold(bool hold);

/* directories_are_known: all directories that existed at the start are adopted or refused.
 * directories_are_scanned: readers have looked through all adopted directories. */
bool directories_are_known(void);
bool directories_are_scanned(void);

/* Adopts a directory that an earlier broker had adopted, without asking the account database again,
 * because no user shall lose a grant when the database is down. */
void directory_adopt_for_now(struct user *user);

/* Has the adopter close the descriptor, because the last close(2) of a file may wait for its file
 * system. */
void directories_dispose(int fd);

/* Has the adopter set the mode of a file or directory of root, and closes the descriptor. */
void directories_set_mode(int fd, mode_t mode);

/* Writes a line about an entry of specs/ into the log, at a bounded rate for each user. */
void report_found(const struct user *user, const char *name, const char *decision,
                  const char *reason);

#endif
