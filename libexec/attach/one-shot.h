/* Shared by rtf-attach and rtf-detach when a person calls them: the words on the command line
 * are the lines of one paragraph. Errors go to standard error. */
#ifndef RTF_ONE_SHOT_H
#define RTF_ONE_SHOT_H

#include <stdbool.h>

#include "cgroup.h"
#include "scheduling.h"
#include "paragraph.h"
#include "thread.h"

/* Reads the words into *words, which points into *input. False: they are no paragraph. */
bool one_shot_words(struct paragraph_input *input, struct paragraph *words, char **argv, int argc);

/* Finds the thread of tid=; with start= it must have started at that time (clock ticks). EX_OK,
 * EX_USAGE, or EX_NOINPUT: there is no such thread. */
int one_shot_thread(const struct paragraph *words, struct identity *identity);

/* The cpuset group of a thread that is to go into a domain; else "". False: the group cannot be
 * read or written into a paragraph. */
bool one_shot_group(pid_t tid, const struct attributes *wanted, char group[static GROUP_BYTES]);

/* one_shot_print prints the paragraph without its closing empty line; one_shot_close prints that
 * line once the thread is attached. Otherwise a reader at the other end of a pipe could detach
 * the thread before. False with errno. */
bool one_shot_print(const struct identity *identity, const struct attributes *attributes,
                    const char *group);
bool one_shot_close(void);

/* True: the call is pending and has to be made again; this function has slept until it can go
 * on. */
bool one_shot_wait_pending(enum apply_result done);

#endif
