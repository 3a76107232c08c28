/* Parses and prints the numbers that people and protocols write, as exact integers.
 *
 * Times are microseconds. Utilization is in billionths of a CPU, rounded up, so that the
 * utilization that a plugin counts is never less than the real one (equation 1 of the ReTiF
 * paper). */
#ifndef RTF_UNITS_H
#define RTF_UNITS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONE_CPU UINT64_C(1000000000) /* utilization 1.0 */
/* one hour in us; a longer runtime or period is probably a typing error */
#define TIME_MAX   UINT64_C(3600000000)
#define WAIT_MAX   (UINT64_C(366) * 24 * TIME_MAX) /* the longest time to wait, in us */
#define TIME_UNITS "us, ms, s, min, h or d"

enum { PRIORITY_MAX = 99, UTILIZATION_TEXT = 24, CPU_LIST_TEXT = 4096 };

/* Parses a number within [0, max]: plain decimal digits, and nothing else. */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

/* Reads a number within [0, max] at *text, and moves *text past it. */
bool take_number(const char **text, uint64_t max, uint64_t *value);

/* Parses a time such as "250us", "8ms", "2s", "3min", "1h" or "2d": digits and one unit, within
 * [1us, TIME_MAX]. A number without a unit is refused, because chrt(1) reads it as ns, ReTiF as us,
 * and systemd as s. */
bool parse_time(const char *text, uint64_t *microseconds);

/* Like parse_time, but takes times up to WAIT_MAX. */
bool parse_wait(const char *text, uint64_t *microseconds);

/* Writes a time in the form of a spec: "1500us", "5ms" or "2s". Returns text. */
enum { TIME_TEXT = 32 };
char *format_time(uint64_t microseconds, char text[static TIME_TEXT]);

/* Returns a timeout for poll(2), in ms. The timeout is rounded up, because poll(2) does not wait
 * with 0. It is at most INT_MAX (24 days); a caller with a longer time polls again. */
int poll_milliseconds(int64_t nanoseconds);

/* Guesses which time a user meant with invalid text such as "1.5ms", "5 MS" or "1e3us". True if the
 * result is a whole number of microseconds within [1us, TIME_MAX]. unit: the unit that a number
 * without a unit gets, in us; 0: such a number is no time. Only messages to users have the
 * result. */
bool guess_time(const char *text, uint64_t unit, uint64_t *microseconds);

/* Parses a utilization of a configuration file, such as "0.5", "1" or "2.25", with at most nine
 * decimals. */
bool parse_utilization(const char *text, uint64_t *billionths);

/* Writes the shortest exact decimal: "0.25" for 250000000. Returns text. */
char *format_utilization(uint64_t billionths, char text[static UTILIZATION_TEXT]);

/* format_number prints a number. format_seconds prints a time since 1970, given in ns, as stat -c
 * %.9Z prints it: "1795213893.700001680" (an earlier time is 0). The digits end at the end of
 * `text`; the functions return the start of the digits. Use these functions for text that is
 * written with each request, because printf(3) takes ten times as long. */
enum { NUMBER_TEXT = 21, SECONDS_TEXT = 32 };
char *format_number(uint64_t number, char text[static NUMBER_TEXT]);
char *format_seconds(int64_t nanoseconds, char text[static SECONDS_TEXT]);

/* Returns runtime / window in billionths, rounded up; window > 0. The maximum is UINT64_MAX. */
uint64_t utilization(uint64_t runtime, uint64_t window);

/* Returns the largest runtime with utilization(runtime, window) <= billionths. */
uint64_t runtime_within(uint64_t billionths, uint64_t window);

/* Parses a list of CPUs such as "0-3,6", as for taskset -c and cpuset.cpus. Each CPU must be below
 * CPU_SETSIZE. False: the text has another form, or the list is empty. */
bool parse_cpus(const char *text, cpu_set_t *cpus);

/* Returns the lowest CPU of the set with a number of at least `cpu`; CPU_SETSIZE: there is none. */
int cpu_from(const cpu_set_t *cpus, int cpu);

/* Writes the list of CPUs in its shortest form. Returns text. */
char *format_cpus(const cpu_set_t *cpus, char text[static CPU_LIST_TEXT]);

#endif
