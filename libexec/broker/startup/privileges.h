/* What the broker can still do when it reads its first byte from a user. */
#ifndef RTF_PRIVILEGES_H
#define RTF_PRIVILEGES_H

/* What is root's is its own, and users' files it never touches. It can open nothing but its parts of the spool, the configuration, /proc and
 * /sys, the last two for reading; it can run nothing. Ends the program if that is not to be had. */
void privileges_drop(const char *path, const char *config);

/* From the first request on it can neither rename nor remove nor make directories either: whoever has one locked would have it wait. */
void privileges_to_serve(void);

#endif
