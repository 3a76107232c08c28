/* rtf-brokerd --explain: what would become of a wish, rule by rule and plugin by plugin. A broker of its own, that serves nobody:
 * it reads configuration and state/, has the same plugins decide, and ends; nothing is granted. */
#ifndef RTF_EXPLAIN_H
#define RTF_EXPLAIN_H

/* The wish is a file, or "-"; `user` a name or uid. `spool` may be missing or not to be read: then nothing is in use. Prints to
 * standard output; returns the exit status: 0 it would be granted, 1 it would not, EX_DATAERR it is no wish. The parts have been
 * prepared (starter.h). */
int explain(const char *wish_path, const char *user_name, const char *spool_path);

#endif
