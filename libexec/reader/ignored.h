/* The file .ignored in the user's directory: names that are not valid, and the rule for names, for
 * users who get no answer. */
#ifndef RTF_IGNORED_H
#define RTF_IGNORED_H

/* Starts anew, at the beginning of a scan. */
void ignored_begin(void);

/* Adds a name, which must be printable, once each and only while the file is short. */
void ignored_add(const char *name);

#endif
