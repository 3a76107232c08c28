/* Users' directories: whose they are, and who may have one. What is in specs/ the adopter tells (libexec/adopter/rtf-adopter.c), and renames and modes are
 * left to it; nothing is looked up here. */
#ifndef RTF_DIRECTORIES_H
#define RTF_DIRECTORIES_H

#include "names.h"
#include "reservation.h"

/* Before the launcher is forked: tells it about the program. And when it has been. */
void directories_prepare(char *path);
bool directories_start(void);

/* All users with a directory that is there: this, and then user->hh.next. */
struct user *users_first(void);
struct user *user_find(const char *name);

/* One that has no reservations left: freed by users_sweep, when the events in hand have been dealt with. */
void user_close(struct user *user);
void users_sweep(void);

/* The account is known now: its directories are adopted, moved aside or left alone. */
void directories_of(struct account *account);

/* Everything will be looked at anew: after a SIGHUP. */
void directories_rescan(void);

/* While held, directories are adopted but nothing in them is looked at: recover.c comes first. */
void directories_hold(bool hold);

/* Each directory that was there at the start is adopted, or will not be; and what is in them has been seen. */
bool directories_are_known(void);
bool directories_are_scanned(void);

/* An account database that is down must not cost anybody his grant: adopted for now, as it was before. */
void directory_adopt_for_now(struct user *user);

/* Closes a descriptor, elsewhere: the last one to close a file may have to wait for its file system. */
void directories_dispose(int fd);

/* Has the adopter set the mode of what is root's, and closes the descriptor. */
void directories_set_mode(int fd, mode_t mode);

/* A line in the log of what was found there, so many in a while and no more. */
void report_found(const struct user *user, const char *name, const char *decision, const char *reason);

#endif
