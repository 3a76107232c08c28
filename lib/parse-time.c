#include <string.h>
#include <strings.h>

#include "units.h"

static const struct {
    const char *name;
    uint64_t microseconds;
} units[] = {{"us", 1},
             {"ms", 1000},
             {"s", 1000000},
             {"min", 60000000},
             {"h", UINT64_C(3600000000)},
             {"d", UINT64_C(86400000000)}};

static bool parse_time_within(const char *text, uint64_t max, uint64_t *microseconds)
{
    uint64_t number;
    if (!take_number(&text, max, &number) || number == 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].name) == 0 && number <= max / units[i].microseconds) {
            *microseconds = number * units[i].microseconds;
            return true;
        }
    return false;
}

bool parse_time(const char *text, uint64_t *microseconds)
{
    return parse_time_within(text, TIME_MAX, microseconds);
}

bool parse_wait(const char *text, uint64_t *microseconds)
{
    return parse_time_within(text, WAIT_MAX, microseconds);
}

/* Reads digits, possibly with a point. *scale: the number of digits after the point. */
static bool take_decimal(const char **text, uint64_t *digits, int *scale)
{
    bool any = false, point = false;
    *digits = 0;
    *scale = 0;
    for (const char *at = *text;; at++) {
        if (*at == '.' && !point) {
            point = true;
            continue;
        }
        if (*at < '0' || *at > '9') {
            *text = at;
            return any;
        }
        if (*digits > UINT64_MAX / 100)
            return false;
        *digits = *digits * 10 + (uint64_t)(*at - '0');
        *scale += point;
        any = true;
    }
}

static bool take_exponent(const char **text, int *scale)
{
    uint64_t exponent;
    if (**text != 'e' && **text != 'E')
        return true;
    const char *at = *text + 1;
    const bool less = *at == '-';
    at += less || *at == '+';
    if (!take_number(&at, 30, &exponent))
        return false;
    *scale += less ? (int)exponent : -(int)exponent;
    *text = at;
    return true;
}

static uint64_t guess_unit(const char *text, uint64_t unit)
{
    text += strspn(text, " ");
    if (text[0] == '\0')
        return unit;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(text, units[i].name) == 0)
            return units[i].microseconds;
    return 0;
}

bool guess_time(const char *text, uint64_t unit, uint64_t *microseconds)
{
    uint64_t digits;
    int scale;
    text += strspn(text, " +");
    if (!take_decimal(&text, &digits, &scale) || !take_exponent(&text, &scale))
        return false;
    unit = guess_unit(text, unit);
    unsigned __int128 time = (unsigned __int128)digits * unit;
    for (; scale < 0 && time <= TIME_MAX; scale++)
        time *= 10;
    for (; scale > 0 && time % 10 == 0; scale--)
        time /= 10;
    *microseconds = (uint64_t)time;
    return scale == 0 && time >= 1 && time <= TIME_MAX;
}
