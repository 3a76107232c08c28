/* Functions that rtf-attach and rtf-detach share when a person calls them. The words on the command
 * line are the lines of one paragraph (lib/paragraph.h). Errors go to standard error. */
#ifndef RTF_ONE_SHOT_H
#define RTF_ONE_SHOT_H

#include <stdbool.h>

#include "cgroup.h"
#include "scheduling.h"
#include "paragraph.h"
#include "thread.h"

/* Reads the command line into *words, which points into *input. False: the words are no
 * paragraph. */
bool one_shot_words(struct paragraph_input *input, struct paragraph *words, char **argv, int argc);

/* Finds the thread of tid=. If start= is given, the thread must have started at that time (clock
 * ticks). Returns EX_OK, EX_USAGE, or EX_NOINPUT: there is no such thread. */
int one_shot_thread(const struct paragraph *words, struct identity *identity);

/* Writes the thread's cpuset group into `group`, or "" if the request does not ask for a scheduling
 * domain. False: the group cannot be read or written into a paragraph. */
bool one_shot_group(pid_t tid, const struct attributes *wanted, char group[static GROUP_BYTES]);

/* one_shot_print prints the paragraph without its closing empty line. one_shot_close prints the
 * empty line once the thread is attached. Otherwise rtf-detach at the other end of a pipe could
 * detach the thread before it is attached. False: errno says why. */
bool one_shot_print(const struct identity *identity, const struct attributes *attributes,
                    const char *group);
bool one_shot_close(void);

/* done: the result of an attempt to change a thread. If `done` is APPLY_PENDING, sleeps until the
 * kernel can accept the change, and returns true: the caller tries again. */
bool one_shot_wait_pending(enum apply_result done);

#endif
