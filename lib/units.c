#include "units.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool take_number(const char **text, uint64_t max, uint64_t *value)
{
    const char *digit = *text;
    uint64_t number = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        uint64_t next;
        if (__builtin_mul_overflow(number, 10, &next) ||
            __builtin_add_overflow(next, (uint64_t)(*digit - '0'), &number))
            return false;
    }
    if (digit == *text || number > max)
        return false;
    *text = digit;
    *value = number;
    return true;
}

bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
    return take_number(&text, max, value) && *text == '\0';
}

int poll_milliseconds(int64_t nanoseconds)
{
    const int64_t milliseconds = nanoseconds / 1000000 + (nanoseconds % 1000000 > 0);
    return milliseconds <= 0 ? 0 : milliseconds > INT_MAX ? INT_MAX : (int)milliseconds;
}

bool parse_utilization(const char *text, uint64_t *billionths)
{
    uint64_t whole, fraction = 0;
    if (!take_number(&text, 1000000, &whole))
        return false;
    if (*text == '.') {
        const char *start = ++text;
        if (!take_number(&text, ONE_CPU - 1, &fraction) || text - start > 9)
            return false;
        for (ptrdiff_t digits = text - start; digits < 9; digits++)
            fraction *= 10;
    }
    if (*text != '\0')
        return false;
    *billionths = whole * ONE_CPU + fraction;
    return true;
}

char *format_utilization(uint64_t billionths, char text[static UTILIZATION_TEXT])
{
    int length =
        snprintf(text, UTILIZATION_TEXT, "%llu.%09llu", (unsigned long long)(billionths / ONE_CPU),
                 (unsigned long long)(billionths % ONE_CPU));
    while (text[length - 1] == '0')
        text[--length] = '\0';
    if (text[length - 1] == '.')
        text[--length] = '\0';
    return text;
}

char *format_time(uint64_t microseconds, char text[static TIME_TEXT])
{
    const unsigned long long time = microseconds;
    if (time % 1000000 == 0)
        snprintf(text, TIME_TEXT, "%llus", time / 1000000);
    else if (time % 1000 == 0)
        snprintf(text, TIME_TEXT, "%llums", time / 1000);
    else
        snprintf(text, TIME_TEXT, "%lluus", time);
    return text;
}

/* Writes the digits of a number so that the last digit is just before `end`. The function does not
 * use printf(3): with printf(3), the thirty numbers of each request made rtf_spec_create 5 us
 * longer. */
static char *digits_before(char *end, uint64_t number)
{
    do
        *--end = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return end;
}

char *format_number(uint64_t number, char text[static NUMBER_TEXT])
{
    text[NUMBER_TEXT - 1] = '\0';
    return digits_before(text + NUMBER_TEXT - 1, number);
}

char *format_seconds(int64_t nanoseconds, char text[static SECONDS_TEXT])
{
    const uint64_t second = 1000000000, time = nanoseconds < 0 ? 0 : (uint64_t)nanoseconds;
    char *end = text + SECONDS_TEXT - 1, *point = end - 10;
    *end = '\0';
    (void)digits_before(end, second + time % second); /* the added second keeps the leading zeros */
    *point = '.';
    return digits_before(point, time / second);
}

uint64_t utilization(uint64_t runtime, uint64_t window)
{
    unsigned __int128 scaled = (unsigned __int128)runtime * ONE_CPU;
    unsigned __int128 share = (scaled + window - 1) / window;
    return share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
}

uint64_t runtime_within(uint64_t billionths, uint64_t window)
{
    unsigned __int128 runtime = (unsigned __int128)billionths * window / ONE_CPU;
    return runtime > UINT64_MAX ? UINT64_MAX : (uint64_t)runtime;
}

bool parse_cpus(const char *text, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    for (;;) {
        uint64_t first, last;
        if (!take_number(&text, CPU_SETSIZE - 1, &first))
            return false;
        last = first;
        if (*text == '-') {
            text++;
            if (!take_number(&text, CPU_SETSIZE - 1, &last) || last < first)
                return false;
        }
        for (uint64_t cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, cpus);
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
}

/* Looks at whole words of the set, because most of the 1,024 bits of a set are zero. */
int cpu_from(const cpu_set_t *cpus, int cpu)
{
    enum { BITS = 8 * sizeof(unsigned long), WORDS = CPU_SETSIZE / BITS };
    unsigned long words[WORDS];
    memcpy(words, cpus, sizeof words);
    for (int word = cpu / BITS; word < WORDS; word++) {
        unsigned long left = words[word] & (word == cpu / BITS ? ~0UL << (cpu % BITS) : ~0UL);
        if (left != 0)
            return word * BITS + __builtin_ctzl(left);
    }
    return CPU_SETSIZE;
}

static char *append_number(char *end, int number)
{
    char text[NUMBER_TEXT];
    return stpcpy(end, format_number((uint64_t)number, text));
}

char *format_cpus(const cpu_set_t *cpus, char text[static CPU_LIST_TEXT])
{
    char *end = text;
    *end = '\0';
    for (int cpu = cpu_from(cpus, 0); cpu < CPU_SETSIZE; cpu = cpu_from(cpus, cpu + 1)) {
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        if (end != text)
            *end++ = ',';
        end = append_number(end, cpu);
        if (last != cpu) {
            *end++ = '-';
            end = append_number(end, last);
        }
        cpu = last;
    }
    return text;
}
