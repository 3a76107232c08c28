/* The file .ignored in the user's directory tells a user who gets no answer which names are not
 * valid, and the rule for names. */
#ifndef RTF_IGNORED_H
#define RTF_IGNORED_H

/* Removes the file, at the beginning of a scan. */
void ignored_begin(void);

/* Adds a name, which must be printable, if the file does not have it yet and is not full. */
void ignored_add(const char *name);

#endif
