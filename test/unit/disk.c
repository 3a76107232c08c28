/* The weight of data on a disk (disk.h): never less than the time that they take; and the nearest
 * amount fits. */
#include "unit.h"

#include "disk.h"
#include "wire.h"

static void rates_grow_with_the_block(void **state)
{
    static const char *const wrong[] = {"",
                                        "4KiB:",
                                        ":900kB",
                                        "4KiB:900kB,",
                                        "4KiB:900kB,4KiB:1MB",
                                        "32KiB:5MB,4KiB:1MB",
                                        "4KiB:2MB,32KiB:1MB",
                                        "32MiB:1MB",
                                        "4KiB:0",
                                        "0:1MB",
                                        "4KiB:1MB 32KiB:2MB"};
    struct disk_rates rates;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!parse_disk_rates(wrong[i], &rates), "\"%s\"", wrong[i]);
    assert_true(parse_disk_rates("4KiB:900kB,32KiB:5400kB", &rates));
    assert_int_equal(rates.count, 2);
    assert_int_equal(disk_rate(&rates, 18432), 3150000); /* half way between two measured sizes */
    assert_true(parse_disk_rates("5400kB", &rates));
    assert_int_equal(disk_rate(&rates, 1), 5400000);
    assert_int_equal(disk_rate(&rates, DISK_BLOCK_MAX), 5400000);
}

/* A block takes seek + bytes / rate. Between measured sizes, the assumed throughput is never more
 * than the disk's. */
static void what_was_not_measured_is_not_promised(void **state)
{
    struct disk_rates rates;
    (void)state;
    for (uint64_t seek = 0; seek <= 20000; seek += 500) { /* us */
        for (unsigned i = 0; i < 4; i++) {
            const uint64_t block = UINT64_C(4096) << 2 * i;
            rates.of[i].block = block;
            rates.of[i].rate = block * 1000000 / (seek + block / 22 + 1); /* 22 MB/s */
        }
        rates.count = 4;
        for (uint64_t block = 512; block <= 1048576; block += 1777) {
            const uint64_t does = block * 1000000 / (seek + block / 22);
            check(disk_rate(&rates, block) <= does + 1, "%llu us, %llu bytes: %llu of %llu",
                  (unsigned long long)seek, (unsigned long long)block,
                  (unsigned long long)disk_rate(&rates, block), (unsigned long long)does);
        }
    }
}

static void the_nearest_is_the_largest_that_fits(void **state)
{
    static const uint64_t periods[] = {1000, 50000, 1000000, TIME_MAX},
                          blocks[] = {512, 4096, 5000, 32768, DISK_BLOCK_MAX};
    struct disk_rates rates;
    (void)state;
    assert_true(parse_disk_rates("4KiB:900kB,32KiB:5400kB,128KiB:12MB", &rates));
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
        for (size_t j = 0; j < sizeof blocks / sizeof *blocks; j++)
            for (uint64_t share = 0; share <= ONE_CPU; share += 9999991) {
                const uint64_t bytes = disk_bytes_within(&rates, share, periods[i], blocks[j]);
                check(bytes % blocks[j] == 0 &&
                          (bytes == 0 || disk_share(&rates, bytes, periods[i], blocks[j]) <= share),
                      "%llu", (unsigned long long)share);
                check(bytes + blocks[j] > WIRE_BYTES_MAX ||
                          disk_share(&rates, bytes + 1, periods[i], blocks[j]) > share,
                      "%llu: %llu bytes", (unsigned long long)share, (unsigned long long)bytes);
            }
    assert_int_equal(disk_bytes_within(&rates, UINT64_MAX, TIME_MAX, 4096), WIRE_BYTES_MAX);
    /* 32 KiB of 5.4 MB/s in 50 ms, rounded up */
    assert_int_equal(disk_share(&rates, 32768, 50000, 32768), 121362963);
    assert_int_equal(disk_bandwidth(32768, 50000), 655360);
    assert_int_equal(disk_bytes_at(655360, 50000), 32768);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_grow_with_the_block),
        cmocka_unit_test(what_was_not_measured_is_not_promised),
        cmocka_unit_test(the_nearest_is_the_largest_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
