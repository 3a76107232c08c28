/* Users' directories: who owns them, and who may have one. The adopter reports what is in specs/
 * (libexec/adopter/rtf-adopter.c), and renames and changes modes there; the broker itself looks
 * nothing up. */
#ifndef RTF_DIRECTORIES_H
#define RTF_DIRECTORIES_H

#include "names.h"
#include "reservation.h"

/* directories_prepare tells the launcher about the program, before the launcher is forked.
 * directories_start starts it afterwards. */
void directories_prepare(char *path);
bool directories_start(void);

/* The first user whose directory exists; the next one is user->hh.next. */
struct user *users_first(void);
struct user *user_find(const char *name);

/* Closes a user without reservations. users_sweep frees the user after the events of this turn. */
void user_close(struct user *user);
void users_sweep(void);

/* The account is known: its directories are adopted, moved aside or ignored. */
void directories_of(struct account *account);

/* Looks at everything anew, after a SIGHUP. */
void directories_rescan(void);

/* While held, directories are adopted, and no reader looks into them: recovery comes first. */
void directories_hold(bool hold);

/* All directories of the start are adopted or refused; and readers have looked through them. */
bool directories_are_known(void);
bool directories_are_scanned(void);

/* Adopts the directory without an answer of the account database, as an earlier broker had adopted
 * it: a database that is down must cost no user a grant. */
void directory_adopt_for_now(struct user *user);

/* Has the adopter close the descriptor: the last close(2) of a file may wait for its file
 * system. */
void directories_dispose(int fd);

/* Has the adopter set the mode of a directory of root's, and closes the descriptor. */
void directories_set_mode(int fd, mode_t mode);

/* A line in the log about something in specs/, with a bounded rate. */
void report_found(const struct user *user, const char *name, const char *decision,
                  const char *reason);

#endif
