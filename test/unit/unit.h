/* The unit tests share this: cmocka, a clock that moves only when a test moves it, files without
 * content, and random numbers that are the same in each run. */
#ifndef RTF_UNIT_H
#define RTF_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MS INT64_C(1000000) /* ns */

/* The result of monotonic_now, ns. realtime_now is a year later. A test begins with the time at
 * which the last one ended. */
extern int64_t clock_now;

/* Moves the clock on. Each timer that is due by then is called at its time. */
void clock_to(int64_t time);

/* The result of tick_length, us. */
extern uint64_t tick_is;

/* The path of a file with this text. The next call changes the file. */
const char *file_with(const char *text);

/* How often a random test repeats. With sanitizers it repeats less often: they are slow, and what
 * they find depends less on the random numbers. */
#ifdef __SANITIZE_ADDRESS__
#define ROUNDS(count) ((count) / 4)
#else
#define ROUNDS(count) (count)
#endif

void random_from(uint64_t seed);
uint64_t random_below(uint64_t count);
uint64_t random_within(uint64_t least, uint64_t most);

/* Works as assert_true, and prints a sentence about the failure. */
#define check(condition, ...)                      \
    do {                                           \
        if (!(condition))                          \
            fail_msg(#condition ": " __VA_ARGS__); \
    } while (false)

#endif
