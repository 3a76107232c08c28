/* What rtf-attach and rtf-detach share when a person calls them: words on the command line are the lines of
 * one paragraph. Faults are said on stderr. */
#ifndef RTF_ONE_SHOT_H
#define RTF_ONE_SHOT_H

#include <stdbool.h>

#include "paragraph.h"
#include "thread.h"

/* *words points into *input. */
bool one_shot_words(struct paragraph_input *input, struct paragraph *words, char **argv, int argc);

/* The thread of tid=; with start= it must be the one that started then. EX_OK, EX_USAGE, or EX_NOINPUT: there
 * is no such thread. */
int one_shot_thread(const struct paragraph *words, struct identity *identity);

/* All but the empty line that closes the paragraph: that comes when what it tells of has been done, so that a
 * reader at the other end of a pipe does not undo it before. False with errno. */
bool one_shot_print(const struct identity *identity, const struct attributes *attributes);
bool one_shot_close(void);

#endif
