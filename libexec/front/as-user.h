/* A command of rtf(1) does what it does as a user, for root: it becomes rtf-as-user, which starts it anew with the user's rights and with nothing of root's in
 * reach. Commands act as a user in this way and in no other. */
#ifndef RTF_AS_USER_H
#define RTF_AS_USER_H

#include <stdbool.h>

enum { AS_USER_WORDS = 16 };

/* This command with these words, NULL behind the last, on the spool that was typed. `timeout` is how long the command may wait, NULL: no longer than rtf-as-user lets it.
 * With input, standard input is passed on. Says why not, and ends, where the caller is not root or there is no such user. */
_Noreturn void as_user(const char *user, const char *timeout, bool input, const char *const words[static AS_USER_WORDS]);

#endif
