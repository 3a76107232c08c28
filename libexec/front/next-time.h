/* Prints the last messages of rtf-run --learn. They say which threads have no period, and give the
 * command line that makes the same reservations without learning. */
#ifndef RTF_NEXT_TIME_H
#define RTF_NEXT_TIME_H

#include "followed.h"

void next_time_say(const struct followed *followed, char *const command[]);

#endif
