/* The weight of a stream on a wire, and the largest stream of a weight. */
#include "wire.h"

#include "unit.h"

static void sizes_and_rates_have_units(void **state)
{
    static const char *const wrong[] = {
        "",   "B",  "0",   "0B",  "1GB",        "1.5KiB",     "-1",
        "+1", " 1", "1 B", "1kb", "1073741825", "1048577KiB", "99999999999999999999999"};
    static const char *const wrong_rates[] = {"",          "bit",     "0bit",
                                              "100",       "100Mb",   "1mbit",
                                              "10001Gbit", "1.5Mbit", "99999999999999999999999bit"};
    uint64_t value = 0;
    (void)state;
    assert_true(parse_bytes("1024", &value) && value == 1024);
    assert_true(parse_bytes("32KiB", &value) && value == 32768);
    assert_true(parse_bytes("64kB", &value) && value == 64000);
    assert_true(parse_bytes("1024MiB", &value) && value == WIRE_BYTES_MAX);
    assert_true(parse_rate("3553kbit", &value) && value == 3553000);
    assert_true(parse_rate("10000Gbit", &value) && value == UINT64_C(10000000000000));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!parse_bytes(wrong[i], &value), "%s", wrong[i]);
    for (size_t i = 0; i < sizeof wrong_rates / sizeof *wrong_rates; i++)
        check(!parse_rate(wrong_rates[i], &value), "%s", wrong_rates[i]);
}

static void each_packet_has_its_headers(void **state)
{
    (void)state;
    assert_int_equal(wire_rate(1024, 20000), 53300);
    assert_int_equal(wire_rate(1472, 1000000), 1514);
    assert_int_equal(wire_rate(1473, 1000000), 1557);
    assert_int_equal(wire_rate(1, 3600000000), 1); /* the rate is rounded up */
    assert_int_equal(wire_capacity(3553000, ONE_CPU / 100 * 96), 426360);
    assert_int_equal(wire_capacity(UINT64_C(10000000000000), ONE_CPU), UINT64_C(1250000000000));
}

/* The nearest amount is granted, and one byte more is refused. */
static void the_nearest_is_the_largest_that_fits(void **state)
{
    static const uint64_t periods[] = {1, 7, 100, 20000, 33333, 1000000, 3600000000};
    (void)state;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
        for (uint64_t rate = 0; rate < 2000000; rate += 997) {
            const uint64_t bytes = wire_bytes_within(rate, periods[i]);
            check(bytes == 0 || wire_rate(bytes, periods[i]) <= rate, "%llu a %llu us",
                  (unsigned long long)rate, (unsigned long long)periods[i]);
            check(bytes == WIRE_BYTES_MAX || wire_rate(bytes + 1, periods[i]) > rate,
                  "%llu a %llu us", (unsigned long long)rate, (unsigned long long)periods[i]);
        }
    assert_int_equal(wire_bytes_within(UINT64_MAX, TIME_MAX), WIRE_BYTES_MAX);
}

/* The nearest is never above the largest allowed amount, even if the rate would allow more. */
static void the_most_is_the_most(void **state)
{
    (void)state;
    const uint64_t second = 1000000, most = wire_rate(WIRE_BYTES_MAX, second);
    assert_int_equal(wire_bytes_within(most - 1, second), WIRE_BYTES_MAX - 1);
    for (uint64_t rate = most; rate < most + UINT64_C(3) * (WIRE_PAYLOAD + WIRE_HEADERS); rate++)
        check(wire_bytes_within(rate, second) == WIRE_BYTES_MAX, "%llu", (unsigned long long)rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_rates_have_units),
        cmocka_unit_test(each_packet_has_its_headers),
        cmocka_unit_test(the_nearest_is_the_largest_that_fits),
        cmocka_unit_test(the_most_is_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
