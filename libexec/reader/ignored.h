/* .ignored in the user's directory: the names there that count for nothing, and what a name is, for who wonders why nobody answers. */
#ifndef RTF_IGNORED_H
#define RTF_IGNORED_H

/* All are looked at again. */
void ignored_begin(void);

/* Printable. Once each, as long as the file is short. */
void ignored_add(const char *name);

#endif
