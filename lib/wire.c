#include "wire.h"

#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000 }; /* us */

struct unit {
    const char *name;
    uint64_t is;
};

/* Parses a number: digits followed by one of the units of the table. */
static bool parse_with_unit(const char *text, const struct unit *units, uint64_t most,
                            uint64_t *value)
{
    char digits[NUMBER_TEXT];
    const size_t length = strspn(text, "0123456789");
    uint64_t number;
    if (length >= sizeof digits)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    for (; units->name != NULL; units++)
        if (strcmp(text + length, units->name) == 0) {
            if (!parse_number(digits, most / units->is, &number) || number == 0)
                return false;
            *value = number * units->is;
            return true;
        }
    return false;
}

bool parse_bytes(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {{"", 1},         {"B", 1},      {"kB", 1000},
                                        {"MB", 1000000}, {"KiB", 1024}, {"MiB", 1048576},
                                        {NULL, 0}};
    return parse_with_unit(text, units, WIRE_BYTES_MAX, bytes);
}

bool parse_memory(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {
        {"", 1},       {"B", 1},         {"kB", 1000},        {"MB", 1000000}, {"GB", 1000000000},
        {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {NULL, 0}};
    return parse_with_unit(text, units, UINT64_C(1) << 40, bytes);
}

bool parse_rate(const char *text, uint64_t *bits)
{
    static const struct unit units[] = {
        {"bit", 1}, {"kbit", 1000}, {"Mbit", 1000000}, {"Gbit", 1000000000}, {NULL, 0}};
    return parse_with_unit(text, units, UINT64_C(10000000000000), bits);
}

uint64_t wire_rate(uint64_t bytes, uint64_t period)
{
    const uint64_t packets = bytes / WIRE_PAYLOAD + (bytes % WIRE_PAYLOAD != 0);
    const unsigned __int128 a_second = ((unsigned __int128)packets * WIRE_HEADERS + bytes) * SECOND;
    return (uint64_t)((a_second + period - 1) / period);
}

uint64_t wire_bytes_within(uint64_t rate, uint64_t period)
{
    const unsigned __int128 carried = (unsigned __int128)rate * period / SECOND;
    const uint64_t whole = WIRE_HEADERS + WIRE_PAYLOAD;
    if (carried / whole >= WIRE_BYTES_MAX / WIRE_PAYLOAD + 1)
        return WIRE_BYTES_MAX;
    const uint64_t left = (uint64_t)(carried % whole);
    const uint64_t bytes = (uint64_t)(carried / whole) * WIRE_PAYLOAD +
                           (left > WIRE_HEADERS ? left - WIRE_HEADERS : 0);
    return bytes < WIRE_BYTES_MAX ? bytes : WIRE_BYTES_MAX;
}

uint64_t wire_capacity(uint64_t bits, uint64_t threshold)
{
    return (uint64_t)((unsigned __int128)bits * threshold / ONE_CPU / 8);
}
