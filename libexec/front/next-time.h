/* The last words of rtf-run --learn: which threads have no period, and the command line that
 * reserves the same without learning. */
#ifndef RTF_NEXT_TIME_H
#define RTF_NEXT_TIME_H

#include "followed.h"

void next_time_say(const struct followed *followed, char *const command[]);

#endif
