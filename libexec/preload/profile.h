/* What a thread of a program that knows nothing of rtf is to have: lines of files in preload.d, rtf-preload(1).
 *
 *     PROGRAM THREAD [runtime=TIME] [period=TIME] [plugin=NAME]
 *
 * PROGRAM and THREAD are patterns as of a shell. The first line that fits counts: directories in the order given, files in that of their names. */
#ifndef RTF_PROFILE_H
#define RTF_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { PROFILE_PLUGIN = 33, PROFILE_WRONG = 400 };

struct profile {
    uint64_t runtime, period; /* us; 0: not said */
    char plugin[PROFILE_PLUGIN]; /* "": not said */
};

/* Adds one word, "runtime=1ms", to a profile. False: it is none. */
bool profile_take(struct profile *profile, const char *word);

/* What the directories, joined by colons, say about this thread: what is not said is not changed. False: a line is wrong, and `wrong` has file, number
 * and reason; the lines before it count. Directories that are not there say nothing. */
bool profile_find(const char *directories, const char *program, const char *thread, struct profile *profile, char wrong[static PROFILE_WRONG]);

#endif
