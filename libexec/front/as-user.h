/* Root has a command of rtf(1) act as a user: the process becomes rtf-as-user, which starts the
 * command again with the user's rights, and without any open file of root's. All commands of rtf(1)
 * act as a user in this way. */
#ifndef RTF_AS_USER_H
#define RTF_AS_USER_H

#include <stdbool.h>

enum { AS_USER_WORDS = 16 };

/* Starts this command with these words, which end with NULL, on the spool of --spool, as the user:
 * a name, or a uid without an account. `timeout` is how long the command may run, as text with a
 * unit; NULL: the default of rtf-as-user. With `input` the command has this standard input. Does
 * not return: on an error it says why and exits, with EX_NOPERM if the caller is not root, with
 * EX_NOUSER if there is no such user. */
_Noreturn void as_user(const char *user, const char *timeout, bool input,
                       const char *const words[static AS_USER_WORDS]);

#endif
