/* What rtf-attach and rtf-detach share when a person calls them: words on the command line are the lines of
 * one paragraph. Faults are said on stderr. */
#ifndef RTF_ONE_SHOT_H
#define RTF_ONE_SHOT_H

#include <stdbool.h>

#include "cgroup.h"
#include "scheduling.h"
#include "paragraph.h"
#include "thread.h"

/* *words points into *input. */
bool one_shot_words(struct paragraph_input *input, struct paragraph *words, char **argv, int argc);

/* The thread of tid=; with start= it must be the one that started then. EX_OK, EX_USAGE, or EX_NOINPUT: there
 * is no such thread. */
int one_shot_thread(const struct paragraph *words, struct identity *identity);

/* The cpuset group that a thread is in, if it is to go into a domain; else "". False when it cannot be written down. */
bool one_shot_group(pid_t tid, const struct attributes *wanted, char group[static GROUP_BYTES]);

/* All but the empty line that closes the paragraph: that comes when what it tells of has been done, so that a
 * reader at the other end of a pipe does not undo it before. False with errno. */
bool one_shot_print(const struct identity *identity, const struct attributes *attributes, const char *group);
bool one_shot_close(void);

/* True: the call has to be made once more; it has been waited until it can go on. */
bool one_shot_waits(enum apply_result done);

#endif
