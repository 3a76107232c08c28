/* Profiles for threads of a program that does not know rtf: lines of the files in preload.d, see
 * rtf-preload(1).
 *
 * Each line is PROGRAM THREAD [runtime=TIME] [period=TIME] [plugin=NAME] [max_priority=N]. PROGRAM
 * and THREAD are shell patterns. The first matching line counts: directories in the given order,
 * files in the order of their names. */
#ifndef RTF_PROFILE_H
#define RTF_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { PROFILE_PLUGIN = 33, PROFILE_WRONG = 400 };

struct profile {
    uint64_t runtime, period;    /* us; 0: not stated */
    char plugin[PROFILE_PLUGIN]; /* "": not stated */
    int max_priority;            /* 0: not stated */
};

#define PROFILE_WORDS "runtime=TIME, period=TIME, plugin=NAME, max_priority=N"

/* Adds one word, such as "runtime=1ms", to a profile. False: the word is not valid. */
bool profile_take(struct profile *profile, const char *word);

/* Looks for a line about this thread in the directories (separated by colons). A value that the
 * line does not state keeps its old value. False: a line is malformed; `wrong` has file, line
 * number and fault, and earlier lines still count. Missing directories are skipped. */
bool profile_find(const char *directories, const char *program, const char *thread,
                  struct profile *profile, char wrong[static PROFILE_WRONG]);

#endif
