#include "disk.h"

#include <stdio.h>
#include <string.h>

#include "wire.h"

enum { SECOND = 1000000 }; /* us */

static bool parse_size(const char *text, size_t length, uint64_t *bytes)
{
    char word[NUMBER_TEXT + 4];
    if (length >= sizeof word)
        return false;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    return parse_bytes(word, bytes);
}

static bool parse_rate_of(const char *text, size_t length, struct disk_rates *rates)
{
    const unsigned i = rates->count;
    const char *colon = memchr(text, ':', length);
    uint64_t *block = &rates->of[i].block, *rate = &rates->of[i].rate;
    if (i == DISK_RATES || colon == NULL || !parse_size(text, (size_t)(colon - text), block) ||
        *block > DISK_BLOCK_MAX ||
        !parse_size(colon + 1, length - (size_t)(colon + 1 - text), rate))
        return false;
    rates->count++;
    return i == 0 || (*block > rates->of[i - 1].block && *rate >= rates->of[i - 1].rate);
}

bool parse_disk_rates(const char *text, struct disk_rates *rates)
{
    *rates = (struct disk_rates){0};
    if (strchr(text, ':') == NULL) {
        rates->of[0].block = 1; /* the rate counts for blocks of every size */
        rates->count = 1;
        return parse_size(text, strlen(text), &rates->of[0].rate);
    }
    for (const char *end;; text = end + 1) {
        end = strchrnul(text, ',');
        if (!parse_rate_of(text, (size_t)(end - text), rates))
            return false;
        if (*end == '\0')
            return true;
    }
}

uint64_t disk_rate(const struct disk_rates *rates, uint64_t block)
{
    unsigned i = 0;
    while (i < rates->count && rates->of[i].block <= block)
        i++;
    if (i == 0) {
        const uint64_t rate =
            (uint64_t)((unsigned __int128)rates->of[0].rate * block / rates->of[0].block);
        return rate == 0 ? 1 : rate;
    }
    const uint64_t block_below = rates->of[i - 1].block, below = rates->of[i - 1].rate;
    if (i == rates->count)
        return below;
    return below + (uint64_t)((unsigned __int128)(rates->of[i].rate - below) *
                              (block - block_below) / (rates->of[i].block - block_below));
}

uint64_t disk_bandwidth(uint64_t bytes, uint64_t period)
{
    return (uint64_t)(((unsigned __int128)bytes * SECOND + period - 1) / period);
}

uint64_t disk_bytes_at(uint64_t bandwidth, uint64_t period)
{
    const unsigned __int128 bytes = (unsigned __int128)bandwidth * period / SECOND;
    return bytes > WIRE_BYTES_MAX ? WIRE_BYTES_MAX : (uint64_t)bytes;
}

uint64_t disk_share(const struct disk_rates *rates, uint64_t bytes, uint64_t period, uint64_t block)
{
    const unsigned __int128 whole =
        (unsigned __int128)(bytes / block + (bytes % block != 0)) * block;
    const unsigned __int128 carried = (unsigned __int128)disk_rate(rates, block) * period;
    const unsigned __int128 share = (whole * SECOND * ONE_CPU + carried - 1) / carried;
    return share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
}

uint64_t disk_bytes_within(const struct disk_rates *rates, uint64_t share, uint64_t period,
                           uint64_t block)
{
    const unsigned __int128 most = (unsigned __int128)disk_rate(rates, block) * period * share /
                                   ((unsigned __int128)SECOND * ONE_CPU);
    const uint64_t bytes = most > WIRE_BYTES_MAX ? WIRE_BYTES_MAX : (uint64_t)most;
    return bytes / block * block;
}
