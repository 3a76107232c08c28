/* Computes the load of data on a disk. The broker admits a claim on a disk by the share of the
 * disk's time that the claim needs. The share is the bandwidth of the claim, divided by the
 * throughput of the disk with blocks of the claim's block size at random places (equation 1 of the
 * paper on FRSH/FORB, section 4.2, but with one throughput per block size). All values are
 * integers, rounded so that the broker never promises more than the disk has. */
#ifndef RTF_DISK_H
#define RTF_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "units.h"

enum { DISK_RATES = 16, DISK_NAME_BYTES = 32, DISK_BLOCK = 4096 };
#define DISK_BLOCK_MAX UINT64_C(16777216)

/* The share of a disk's time that all claims together may have by default. */
#define DISK_THRESHOLD (ONE_CPU / 100 * 80)

/* Throughput in bytes per second by block size in bytes, both ascending. count = 0: the throughput
 * is not known. */
struct disk_rates {
    unsigned count;
    struct {
        uint64_t block, rate;
    } of[DISK_RATES];
};

/* Parses a list such as "4KiB:900kB,32KiB:5400kB", with ascending sizes and rates that do not fall;
 * or one rate such as "5400kB", for blocks of any size. */
bool parse_disk_rates(const char *text, struct disk_rates *rates);

/* Returns the throughput with blocks of `block` bytes, in bytes per second. Between two known
 * sizes, the function interpolates linearly; this gives a lower bound, because the time per block
 * is seek + bytes / rate. Below the first size, each block takes as long as a block of the first
 * size. Above the last size, the last rate counts. */
uint64_t disk_rate(const struct disk_rates *rates, uint64_t block);

/* disk_bandwidth returns the bandwidth of `bytes` per `period` (us), in bytes per second, rounded
 * up. disk_bytes_at returns the largest number of bytes per `period` that needs at most the
 * bandwidth `bandwidth`, up to WIRE_BYTES_MAX. */
uint64_t disk_bandwidth(uint64_t bytes, uint64_t period);
uint64_t disk_bytes_at(uint64_t bandwidth, uint64_t period);

/* Returns the share of the disk's time that `bytes` per `period` (us) need, in billionths, rounded
 * up. The bytes count as whole blocks of `block` bytes. */
uint64_t disk_share(const struct disk_rates *rates, uint64_t bytes, uint64_t period,
                    uint64_t block);

/* Returns the largest number of bytes, a multiple of `block`, with a disk_share of at most `share`;
 * at most WIRE_BYTES_MAX. */
uint64_t disk_bytes_within(const struct disk_rates *rates, uint64_t share, uint64_t period,
                           uint64_t block);

#endif
