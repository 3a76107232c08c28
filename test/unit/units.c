/* lib/units.c and lib/parse-time.c: a parsed value equals the written one, a charge is never less
 * than the use, and no sum wraps. */
#include "units.h"

#include <limits.h>
#include <string.h>

#include "unit.h"

static void numbers_are_digits_alone(void **state)
{
    static const char *const wrong[] = {"",
                                        " ",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1.0",
                                        "0x1",
                                        "1e3",
                                        "101",
                                        "18446744073709551616",
                                        "99999999999999999999"};
    uint64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!parse_number(wrong[i], 100, &value), "\"%s\"", wrong[i]);
    assert_true(parse_number("007", 100, &value) && value == 7);
    assert_true(parse_number("100", 100, &value) && value == 100);
    assert_true(parse_number("18446744073709551615", UINT64_MAX, &value) && value == UINT64_MAX);
}

static void times_have_a_unit(void **state)
{
    static const char *const wrong[] = {"",
                                        "5",
                                        "ms",
                                        "0us",
                                        "0s",
                                        "5 ms",
                                        " 5ms",
                                        "5ms ",
                                        "5MS",
                                        "5m",
                                        "5ns",
                                        "1.5ms",
                                        "5e3us",
                                        "0x5us",
                                        "+5ms",
                                        "-5ms",
                                        "5ms5us",
                                        "5,000us",
                                        "3601s",
                                        "3600001ms",
                                        "3600000001us",
                                        "18446744073709551616us",
                                        "18446744073709551s"};
    static const struct {
        const char *text;
        uint64_t microseconds;
    } right[] = {
        {"1us", 1},          {"007ms", 7000}, {"3600000000us", TIME_MAX}, {"3600000ms", TIME_MAX},
        {"3600s", TIME_MAX}, {"2s", 2000000}, {"3min", 180000000},        {"60min", TIME_MAX},
        {"1h", TIME_MAX}};
    uint64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!parse_time(wrong[i], &value), "\"%s\"", wrong[i]);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        check(parse_time(right[i].text, &value) && value == right[i].microseconds, "\"%s\"",
              right[i].text);
}

static void no_wait_overflows_poll(void **state)
{
    (void)state;
    assert_int_equal(poll_milliseconds(-1), 0);
    assert_int_equal(poll_milliseconds(0), 0);
    assert_int_equal(poll_milliseconds(1), 1);
    assert_int_equal(poll_milliseconds(INT64_C(1000000)), 1);
    assert_int_equal(poll_milliseconds(INT64_C(2147483647) * 1000000), INT_MAX);
    /* 4294967298 would be 2 as an int */
    assert_int_equal(poll_milliseconds(INT64_C(4294967298) * 1000000), INT_MAX);
    assert_int_equal(poll_milliseconds((int64_t)WAIT_MAX * 1000), INT_MAX);
}

static void utilizations_have_nine_decimals_at_most(void **state)
{
    static const char *const wrong[] = {"",      ".",  ".5",           "1.",           "0,5",
                                        "50%",   "-1", "0.1234567891", "0.0000000001", "1000001",
                                        "1.0.0", " 1"};
    uint64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!parse_utilization(wrong[i], &value), "\"%s\"", wrong[i]);
    assert_true(parse_utilization("0.5", &value) && value == 500000000);
    assert_true(parse_utilization("0.000000001", &value) && value == 1);
    assert_true(parse_utilization("2.25", &value) && value == 2250000000);
    assert_true(parse_utilization("1000000", &value) && value == UINT64_C(1000000) * ONE_CPU);
}

static void utilizations_come_back(void **state)
{
    char text[UTILIZATION_TEXT];
    (void)state;
    random_from(1);
    for (int round = 0; round < ROUNDS(200000); round++) {
        uint64_t back, one = random_below(UINT64_C(1) << random_within(1, 49));
        check(parse_utilization(format_utilization(one, text), &back) && back == one, "%s", text);
        const char *point = strchr(text, '.');
        check(point == NULL || text[strlen(text) - 1] != '0', "%s is not the shortest", text);
    }
    assert_string_equal(format_utilization(0, text), "0");
    assert_string_equal(format_utilization(250000000, text), "0.25");
    assert_string_equal(format_utilization(UINT64_MAX, text), "18446744073.709551615");
}

static void times_come_back(void **state)
{
    static const uint64_t times[] = {1, 999, 1000, 1500, 33333, 999999, 1000000, 1000001, TIME_MAX};
    char text[TIME_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        uint64_t back = 0;
        check(parse_time(format_time(times[i], text), &back) && back == times[i], "%s", text);
    }
    assert_string_equal(format_time(1500, text), "1500us");
    assert_string_equal(format_time(5000, text), "5ms");
    assert_string_equal(format_time(2000000, text), "2s");
}

static void numbers_come_back(void **state)
{
    char text[NUMBER_TEXT], expected[NUMBER_TEXT + 1];
    (void)state;
    random_from(2);
    for (int round = 0; round < ROUNDS(200000); round++) {
        uint64_t back, one = random_below(UINT64_MAX) >> random_below(64);
        const char *written = format_number(one, text);
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)one);
        check(strcmp(written, expected) == 0 && parse_number(written, UINT64_MAX, &back) &&
                  back == one,
              "%s, not %s", written, expected);
    }
    assert_string_equal(format_number(UINT64_MAX, text), "18446744073709551615");
    assert_string_equal(format_number(0, text), "0");
}

static void seconds_have_all_their_zeros(void **state)
{
    char text[SECONDS_TEXT];
    (void)state;
    assert_string_equal(format_seconds(INT64_C(1795213893700001680), text), "1795213893.700001680");
    assert_string_equal(format_seconds(1, text), "0.000000001");
    assert_string_equal(format_seconds(0, text), "0.000000000");
    assert_string_equal(format_seconds(-1, text), "0.000000000");
    assert_string_equal(format_seconds(INT64_MAX, text), "9223372036.854775807");
}

/* A utilization is rounded up. runtime_within is the largest runtime whose utilization passes. */
static void a_runtime_fits_exactly_into_its_share(void **state)
{
    (void)state;
    random_from(3);
    for (int round = 0; round < ROUNDS(300000); round++) {
        const uint64_t window = random_within(1, TIME_MAX >> random_below(31)),
                       runtime = random_within(1, window), share = utilization(runtime, window);
        const unsigned __int128 exact = (unsigned __int128)runtime * ONE_CPU;
        check((unsigned __int128)share * window >= exact &&
                  (unsigned __int128)(share - 1) * window < exact,
              "%llu of %llu", (unsigned long long)runtime, (unsigned long long)window);
        const uint64_t part = random_below(2 * ONE_CPU), most = runtime_within(part, window);
        check(utilization(most, window) <= part && utilization(most + 1, window) > part,
              "%llu of %llu", (unsigned long long)part, (unsigned long long)window);
        check(runtime_within(share, window) >= runtime, "%llu of %llu", (unsigned long long)runtime,
              (unsigned long long)window);
    }
    assert_int_equal(utilization(UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(runtime_within(UINT64_MAX, UINT64_MAX), UINT64_MAX);
    assert_int_equal(utilization(0, 5), 0);
}

static void cpu_lists_are_read_as_taskset_does(void **state)
{
    static const char *const wrong[] = {"",     ",", "0,",  ",0",   "0-",     "-1",  "1-0",
                                        "0--1", "a", "0 1", "1024", "0-1024", "0x1", "0-1-2"};
    char text[CPU_LIST_TEXT];
    cpu_set_t cpus;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!parse_cpus(wrong[i], &cpus), "\"%s\"", wrong[i]);
    assert_true(parse_cpus("3,0-1,1-2,6", &cpus));
    assert_string_equal(format_cpus(&cpus, text), "0-3,6");
    assert_true(parse_cpus("1023", &cpus));
    assert_string_equal(format_cpus(&cpus, text), "1023");
}

static void cpu_lists_come_back(void **state)
{
    char text[CPU_LIST_TEXT];
    (void)state;
    random_from(4);
    for (int round = 0; round < 3000; round++) {
        cpu_set_t cpus, back;
        CPU_ZERO(&cpus);
        CPU_SET(random_below(CPU_SETSIZE), &cpus);
        for (uint64_t i = random_below(CPU_SETSIZE); i > 0; i--)
            CPU_SET(random_below(CPU_SETSIZE), &cpus);
        check(parse_cpus(format_cpus(&cpus, text), &back) && CPU_EQUAL(&cpus, &back), "%s", text);
        int found = 0;
        for (int cpu = cpu_from(&cpus, 0); cpu < CPU_SETSIZE;
             cpu = cpu_from(&cpus, cpu + 1), found++)
            check(CPU_ISSET((size_t)cpu, &cpus), "CPU %d of %s", cpu, text);
        assert_int_equal(found, CPU_COUNT(&cpus));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_digits_alone),
        cmocka_unit_test(times_have_a_unit),
        cmocka_unit_test(no_wait_overflows_poll),
        cmocka_unit_test(utilizations_have_nine_decimals_at_most),
        cmocka_unit_test(utilizations_come_back),
        cmocka_unit_test(times_come_back),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(seconds_have_all_their_zeros),
        cmocka_unit_test(a_runtime_fits_exactly_into_its_share),
        cmocka_unit_test(cpu_lists_are_read_as_taskset_does),
        cmocka_unit_test(cpu_lists_come_back),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
