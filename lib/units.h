/* Numbers as people and protocols write them, in exact integers.
 *
 * Times are microseconds. Utilisation is in billionths of a CPU, rounded up: what is charged is never less
 * than what is used (paper 000, eq. 1). */
#ifndef RTF_UNITS_H
#define RTF_UNITS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONE_CPU UINT64_C(1000000000) /* utilisation 1.0 */
#define TIME_MAX UINT64_C(3600000000) /* one hour in us: longer runtimes and periods are typing errors */
#define WAIT_MAX (UINT64_C(366) * 24 * TIME_MAX) /* of what is waited for */
#define TIME_UNITS "us, ms, s, min, h or d"

enum { PRIORITY_MAX = 99, UTILIZATION_TEXT = 24, CPU_LIST_TEXT = 4096 };

/* Plain decimal digits within [0, max]; nothing before, between or after them. */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

/* "250us", "8ms", "2s", "3min", "1h", "2d": digits and one unit, in [1us, TIME_MAX]. A bare number is refused: chrt(1) would
 * read it as ns, ReTiF as us, systemd as s. */
bool parse_time(const char *text, uint64_t *microseconds);

/* The same up to WAIT_MAX. */
bool parse_wait(const char *text, uint64_t *microseconds);

/* A timeout for poll(2): rounded up, or less than a millisecond would not wait, and at most INT_MAX, 24 days: the caller asks again after that. */
int poll_milliseconds(int64_t nanoseconds);

/* What looks like a time and is none, "1.5ms", "5 MS" or "1e3us": what was meant, if that is a whole number of microseconds in range. Without a unit
 * `unit` counts, 0 is none. For what people are told only. */
bool guess_time(const char *text, uint64_t unit, uint64_t *microseconds);

/* "0.5", "1", "2.25": at most nine decimals, for configuration files. */
bool parse_utilization(const char *text, uint64_t *billionths);

/* The shortest decimal that is exact: 250000000 is "0.25". Returns text. */
char *format_utilization(uint64_t billionths, char text[static UTILIZATION_TEXT]);

/* Of a number, and of a time since 1970 in ns: "1795213893.700001680", as stat -c %.9Z prints it (what is earlier is 0). Written to the end
 * of text; returns where it starts. For what is written with each request: printf(3) takes ten times as long. */
enum { NUMBER_TEXT = 21, SECONDS_TEXT = 32 };
char *format_number(uint64_t number, char text[static NUMBER_TEXT]);
char *format_seconds(int64_t nanoseconds, char text[static SECONDS_TEXT]);

/* ceil(runtime / window) in billionths; window > 0. Saturates at UINT64_MAX. */
uint64_t utilization(uint64_t runtime, uint64_t window);

/* The largest runtime with utilization(runtime, window) <= billionths. */
uint64_t runtime_within(uint64_t billionths, uint64_t window);

/* "0-3,6" as in taskset -c and cpuset.cpus; CPUs below CPU_SETSIZE. False on anything else and on no CPU. */
bool parse_cpus(const char *text, cpu_set_t *cpus);

/* The first CPU of the set that is not below `cpu`; CPU_SETSIZE if there is none. */
int cpu_from(const cpu_set_t *cpus, int cpu);

/* The same list in its shortest form. Returns text. */
char *format_cpus(const cpu_set_t *cpus, char text[static CPU_LIST_TEXT]);

#endif
