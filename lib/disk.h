/* What data weigh on a disk: claims on a disk are admitted by the share of its time that they take, as their bytes divided by what the disk reads
 * in blocks of that size at random places (paper 002, section 4.2, equation (1), with a throughput for each block size instead of one). Exact
 * integers, rounded so that no more is promised than there is. */
#ifndef RTF_DISK_H
#define RTF_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "units.h"

enum { DISK_RATES = 16, DISK_NAME_BYTES = 32, DISK_BLOCK = 4096 };
#define DISK_BLOCK_MAX UINT64_C(16777216)

/* What may be promised of a disk's time where nothing else is said. */
#define DISK_THRESHOLD (ONE_CPU / 100 * 80)

/* Bytes a second, by block size, both growing; count 0: not known. */
struct disk_rates {
    unsigned count;
    struct {
        uint64_t block, rate;
    } of[DISK_RATES];
};

/* "4KiB:900kB,32KiB:5400kB", sizes growing and rates not falling; or "5400kB" for blocks of any size. */
bool parse_disk_rates(const char *text, struct disk_rates *rates);

/* Bytes a second in blocks of `block` bytes. Between two that are known, on the straight line: t = seek + bytes / rate makes the true one higher.
 * Below the first, as if each block took as long as that; above the last, no more than that. */
uint64_t disk_rate(const struct disk_rates *rates, uint64_t block);

/* Bytes a second, rounded up; and the most bytes in each `period` that are no more, up to WIRE_BYTES_MAX. */
uint64_t disk_bandwidth(uint64_t bytes, uint64_t period);
uint64_t disk_bytes_at(uint64_t bandwidth, uint64_t period);

/* Billionths of the disk's time that `bytes` in each `period` (us) take in whole blocks of `block` bytes, rounded up. */
uint64_t disk_share(const struct disk_rates *rates, uint64_t bytes, uint64_t period, uint64_t block);

/* The most bytes, a multiple of `block`, with disk_share of them <= share, up to WIRE_BYTES_MAX. */
uint64_t disk_bytes_within(const struct disk_rates *rates, uint64_t share, uint64_t period, uint64_t block);

#endif
