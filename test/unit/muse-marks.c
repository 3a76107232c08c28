/* libexec/muse/marks.c, measure.c and events.c: from the lines of a log to the analysis. */
#include "muse/marks.h"
#include "muse/experiment-file.h"

#include <string.h>

#include "muse/events.h"
#include "muse/measure.h"
#include "unit.h"

static struct records records;
static char why[MARKS_WHY];

static bool parse(const char *text, size_t threads)
{
    assert_true(records_make(&records, threads));
    return records_parse(text, strlen(text), &records, why) && records_check(&records, why);
}

static void lines_are_taken_as_people_write_them(void **state)
{
    (void)state;
    assert_true(parse(
        "thread,start_us,cpu,job\n# said by hand\n\n 1 , 1.5 , 3 , 0\r\n1,2.0625,3,1\n2,7,0,5", 2));
    assert_true(records.threads[0].count == 2 && records.threads[1].count == 1);
    assert_true(records.threads[0].at[0].time == 1500 && records.threads[0].at[1].time == 2062 &&
                records.threads[0].at[0].cpu == 3);
    assert_true(records.threads[1].at[0].job == 5 && records.threads[1].at[0].time == 7000);
    records_free(&records);
}

static void lines_that_are_none_are_refused(void **state)
{
    static const char *const wrong[] = {"1",
                                        "1,2",
                                        "1,2,3",
                                        "1,2,3,4,5",
                                        ",,,",
                                        "1,2,3,x",
                                        "-1,2,3,4",
                                        "1,1.,0,0",
                                        "1,.5,0,0",
                                        "0,1,1,1",
                                        "3,1,1,1",
                                        "1,1,70000,1",
                                        "1,1,1,4294967295",
                                        "1 1 1 1",
                                        "1,0x5,1,1",
                                        "1,1e3,1,1",
                                        "1,18446744073709551616,1,1",
                                        "thread\nthread",
                                        "1,5,0,0\n1,4,0,1"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check(!parse(wrong[i], 2), "\"%s\"", wrong[i]);
        assert_true(why[0] != '\0');
        records_free(&records);
    }
}

static void the_window_is_where_all_run(void **state)
{
    (void)state;
    assert_true(parse("1,0,0,0\n1,100,0,1\n2,10,0,0\n2,95,0,1\n3,0,0,0\n3,30,0,1", 4));
    struct window window = window_of(&records, 20000);
    /* the third thread is starved, and the fourth never ran */
    assert_true(window.start == 10000 && window.end == 95000);
    records_free(&records);
    assert_true(parse("", 1));
    window = window_of(&records, 20000);
    assert_true(window.start == 0 && window.end == 0);
    records_free(&records);
}

static void lost_marks_lie_evenly_between_their_neighbours(void **state)
{
    struct sequence sequence;
    (void)state;
    assert_true(parse("1,10,0,3\n1,11,1,4\n1,15,0,8\n", 1));
    assert_true(sequence_make(&records.threads[0], window_of(&records, 1), 1, &sequence, why));
    assert_true(sequence.count == 6 && sequence.lost == 3 && sequence.seen_count == 3);
    for (int64_t i = 0; i < 6; i++)
        assert_true(sequence.times[i] == 10000 + 1000 * i);
    sequence_free(&sequence);
    records_free(&records);
}

static void silence_is_heeded(void **state)
{
    struct experiment experiment;
    struct measurement measurement;
    char problem[EXPERIMENT_WHY];
    static const char text[] =
        "{\"global\": {\"duration\": \"1s\"}, \"threads\": {\"a\": {\"phases\": {\"c\": {\"loops\": 1}}, \"analysis\": {\"supply\": true}},"
        "\"b\": {\"phases\": {\"c\": {\"loops\": 1}}}}}";
    (void)state;
    assert_true(experiment_parse(text, strlen(text), READ_TO_ANALYSE, false, &experiment, problem));
    assert_true(parse("1,0,0,0\n1,1000,0,1\n1,2000,0,2\n2,0,0,0\n2,900000,0,1\n", 2));
    assert_true(measure(&experiment, &records, experiment.horizon, &measurement, why));
    const struct measured *a = &measurement.threads[0];
    assert_true(a->outcome == OUTCOME_STARVED && a->sequence.silent == 898 * MS);
    assert_true(a->separations.longest[1] == 898 * MS && a->separations.longest[2] == 899 * MS);
    assert_true(a->blackout == 897 * MS && a->lower.alpha == 0);
    measurement_free(&measurement);
    records_free(&records);
    experiment_free(&experiment);
}

/* ---- events ---- */

static struct mark taken[64];
static size_t taken_count;

static bool take(void *argument, struct mark mark)
{
    (void)argument;
    assert_true(taken_count < sizeof taken / sizeof *taken);
    taken[taken_count++] = mark;
    return true;
}

static int64_t start_of_events = 5000000000; /* ns */

static void event(struct followed *followed, const char *time, int from, char state, int to)
{
    char line[512];
    snprintf(
        line, sizeof line,
        "          a [b-7      [003] d..2.  %s: sched_switch: prev_comm=x prev_pid=9 y prev_pid=%d prev_prio=120 prev_state=%c ==> next_comm=z next_pid=1 next_pid=%d next_prio=120",
        time, from, state, to);
    assert_true(events_take_line(line, followed, start_of_events, take, NULL));
}

static void a_thread_gets_a_mark_for_each_quantum(void **state)
{
    struct followed followed = {.tid = 42, .thread = 1};
    (void)state;
    taken_count = 0;
    event(&followed, "4.999000", 42, 'R', 7); /* events before the start do not count */
    event(&followed, "4.999900", 7, 'R', 42);
    event(&followed, "5.000250", 42, 'S', 0);
    assert_true(taken_count == 3 && taken[0].time == 0 && taken[1].time == 100000 &&
                taken[2].time == 200000 && taken[2].cpu == 3 && taken[2].thread == 1);
    event(&followed, "6.000000", 0, 'R', 42);
    assert_true(followed.asleep == 999750000);
    event(&followed, "6.000060", 42, 'R', 3);
    assert_true(taken_count == 4 && taken[3].time == 1000050000 && taken[3].job == 3);
    assert_true(followed.supplied == 310000 && followed.gaps == 0);
    event(&followed, "7.000000", 42, 'R', 3);
    event(&followed, "7.000000", 3, 'R', 42);
    event(&followed, "7.000100", 3, 'R', 42);
    assert_true(followed.gaps == 2);
    /* one event is earlier than the last, and one has no valid time */
    event(&followed, "5.000000", 42, 'R', 3);
    event(&followed, "5133333333333333323.456780", 42, 'R', 3);
    assert_true(followed.running && followed.gaps == 2 && followed.supplied == 310000);
    assert_true(events_take_line("a line of something else", &followed, 0, take, NULL));
    assert_true(events_take_line(": sched_switch:  ==> ", &followed, 0, take, NULL));
}

/* Commands are read before the start of the experiment is known. */
static void before_the_start_is_known_nothing_counts(void **state)
{
    struct followed followed = {.tid = 42, .thread = 1};
    (void)state;
    taken_count = 0;
    start_of_events = 0;
    event(&followed, "4.000000", 7, 'R', 42);
    event(&followed, "4.000250", 42, 'S', 0);
    event(&followed, "4.000260", 0, 'R', 42);
    assert_true(taken_count == 0 && followed.supplied == 0 && followed.jobs == 0 &&
                followed.asleep == 0 && followed.gaps == 0);
    start_of_events = 5000000000;
    event(&followed, "5.000150", 42, 'S', 0);
    assert_true(taken_count == 2 && taken[0].job == 0 && taken[0].time == 0 && taken[1].job == 1 &&
                taken[1].time == 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(before_the_start_is_known_nothing_counts),
                                       cmocka_unit_test(lines_are_taken_as_people_write_them),
                                       cmocka_unit_test(lines_that_are_none_are_refused),
                                       cmocka_unit_test(the_window_is_where_all_run),
                                       cmocka_unit_test(
                                           lost_marks_lie_evenly_between_their_neighbours),
                                       cmocka_unit_test(silence_is_heeded),
                                       cmocka_unit_test(a_thread_gets_a_mark_for_each_quantum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
