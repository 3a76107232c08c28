/* Writes a grant as a sentence. */
#ifndef RTF_GRANT_TEXT_H
#define RTF_GRANT_TEXT_H

#include <jansson.h>

#include "units.h"

enum { GRANT_TEXT = 2048 };

/* Writes `grant` or `would_grant` of a verdict as text, such as "EDF grants 5ms of each 20ms on
 * CPUs 0-1, 0.25 of a CPU", in printable ASCII. Returns `text`. */
char *grant_text(const json_t *grant, char text[static GRANT_TEXT]);

/* Writes a time in us as text: 1500 is "1500us", 5000 is "5ms", and a value that is no integer is
 * "-". Returns `text`. */
char *time_text(const json_t *time, char text[static TIME_TEXT]);

#endif
