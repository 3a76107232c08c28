/* What time it is, in ns. Whoever computes with times asks here and nowhere else, so that a test can put a clock of its own in this
 * one's place (test/unit/clock.c). */
#ifndef RTF_CLOCK_H
#define RTF_CLOCK_H

#include <stdint.h>

int64_t monotonic_now(void);
int64_t realtime_now(void); /* since 1970 */
int64_t boottime_now(void); /* nobody sets it, and it goes on while the machine sleeps */

#endif
