/* Reads the clocks, in ns. All code that computes with times calls these functions, so that unit
 * tests can replace the clock (test/unit/clock.c). */
#ifndef RTF_CLOCK_H
#define RTF_CLOCK_H

#include <stdint.h>

int64_t monotonic_now(void);
int64_t realtime_now(void); /* CLOCK_REALTIME: since 1970 */
int64_t boottime_now(void); /* CLOCK_BOOTTIME: never set, counts suspend */

#endif
