/* Runs a command of rtf(1) as a user, for root: the process becomes rtf-as-user, and rtf-as-user
 * starts the command again with the user's rights and without any open file of root. All commands
 * of rtf(1) that act as a user do so through rtf-as-user. */
#ifndef RTF_AS_USER_H
#define RTF_AS_USER_H

#include <stdbool.h>

enum { AS_USER_WORDS = 16 };

/* Starts this program again as `user`, on the spool of --spool. user: a name, or a uid without
 * an account. timeout: how long the program may run, as text with a unit; NULL: the default of
 * rtf-as-user. input: true if the program gets the standard input of this process. words: the
 * arguments of the program; NULL ends the list. Does not return. On an error the process says
 * why and exits: with EX_NOPERM if the caller is not root, with EX_NOUSER if the user does not
 * exist. */
_Noreturn void as_user(const char *user, const char *timeout, bool input,
                       const char *const words[static AS_USER_WORDS]);

#endif
