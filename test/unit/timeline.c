/* libexec/watch/timeline.c: what can be concluded from records about a thread, and what cannot.
 * Times are in ms. */
#include "watch/timeline.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit.h"
#include "watch/recording.h"
#include "watch/trace-gantt.h"
#include "watch/trace-json.h"

enum { CAM = 100, OTHER = 200, HOG = 300, RECORDS = 64, SLEEPING = 1, DEAD = 0x20 };

static struct record records[RECORDS];
static size_t count;
static struct traced threads[2];
static struct timeline timeline;

/* Records are in the order of their times. */
static struct record *at(int64_t time, enum record_kind kind, int cpu)
{
    records[count] =
        (struct record){.time = time * MS, .kind = (uint8_t)kind, .cpu = (uint16_t)cpu};
    return &records[count++];
}

static void change(int64_t time, int cpu, pid_t from, int state, pid_t to)
{
    struct record *record = at(time, RECORD_SWITCH, cpu);
    record->thread = from;
    record->state = (uint16_t)state;
    record->next = to;
}

static void waking(int64_t time, pid_t thread)
{
    at(time, RECORD_WAKING, 0)->thread = thread;
}

static void timer(int64_t time, pid_t thread, uint64_t which, int64_t expires)
{
    struct record *record = at(time, RECORD_THROTTLE, 0);
    record->thread = thread;
    record->timer = which;
    record->expires = expires * MS;
}

static void replenish(int64_t time, uint64_t which)
{
    at(time, RECORD_REPLENISH, 0)->timer = which;
}

static void build(int64_t end)
{
    threads[0] = (struct traced){
        .tid = CAM, .runtime = 20 * MS, .period = 60 * MS, .deadline = 60 * MS, .real_time = true};
    threads[1] =
        (struct traced){.tid = OTHER, .runtime = 30 * MS, .period = 100 * MS, .deadline = 50 * MS};
    timeline = (struct timeline){.end = end * MS, .threads = threads, .thread_count = 2, .cpus = 2};
    assert_true(timeline_build(&timeline, records, count));
    count = 0;
}

/* The spans of CAM as text: "running 0-20, throttled 20-60". */
static void spans_are(const char *wanted)
{
    static const char *const names[SPAN_KINDS] = {"job",  "running",     "waiting", "throttled",
                                                  "lost", "replenished", "missed",  "migrated"};
    char found[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < timeline.span_count; i++) {
        const struct span *span = &timeline.spans[i];
        if (span->thread == 0)
            used += (size_t)snprintf(found + used, sizeof found - used, "%s%s %lld-%lld",
                                     used == 0 ? "" : ", ", names[span->kind],
                                     (long long)(span->from / MS), (long long)(span->to / MS));
    }
    assert_string_equal(found, wanted);
    timeline_free(&timeline);
}

static void a_thread_that_never_sleeps_is_throttled_until_its_next_period(void **state)
{
    (void)state;
    for (int64_t period = 0; period < 180; period += 60) {
        change(period + 1, 0, 0, 0, CAM);
        timer(period + 21, CAM, 7, period + 60);
        change(period + 21, 0, CAM, 0, 0);
        replenish(period + 60, 7);
    }
    build(180);
    assert_int_equal(threads[0].ran, 60 * MS);
    assert_int_equal(threads[0].throttled, 117 * MS);
    assert_int_equal(threads[0].throttles, 3);
    assert_int_equal(threads[0].replenishments, 3);
    assert_int_equal(threads[0].lost, 0);
    assert_int_equal(timeline.spans[3].kind, MARK_REPLENISHED);
    assert_int_equal(timeline.spans[3].value, 120 * MS);
    spans_are(
        "running 1-21, throttled 21-60, waiting 60-61, replenished 60-60, running 61-81, throttled 81-120, waiting 120-121, "
        "replenished 120-120, running 121-141, throttled 141-180, replenished 180-180");
}

/* The timer of a fair server also starts in the context of the thread. */
static void the_timer_of_another_is_not_taken_for_the_threads_own(void **state)
{
    (void)state;
    change(1, 0, 0, 0, CAM);
    timer(2, CAM, 9, 40);
    timer(21, CAM, 7, 60);
    change(21, 0, CAM, 0, 0);
    replenish(40, 9);
    replenish(60, 7);
    change(61, 0, 0, 0, CAM);
    timer(62, CAM, 9, 100);
    change(63, 0, CAM, 0, HOG); /* another thread takes the CPU at once */
    change(64, 0, HOG, 0, CAM);
    timer(82, CAM, 7, 120);
    change(82, 0, CAM, 0, 0);
    build(100);
    assert_int_equal(threads[0].replenishments, 1);
    spans_are(
        "running 1-21, throttled 21-60, waiting 60-61, replenished 60-60, running 61-63, waiting 63-64, running 64-82, throttled 82-100");
}

static void a_job_that_ends_after_its_deadline_is_missed(void **state)
{
    (void)state;
    change(1, 0, CAM, SLEEPING, 0);
    waking(10, CAM);
    change(11, 0, 0, 0, CAM);
    change(15, 0, CAM, SLEEPING, 0);
    waking(20, CAM);
    change(30, 0, HOG, 0, CAM);
    change(90, 0, CAM, SLEEPING, 0);
    waking(100, CAM);
    build(200);
    assert_int_equal(threads[0].jobs, 3);
    assert_int_equal(threads[0].missed, 2); /* the last missed job has not begun to run */
    spans_are(
        "running 0-1, job 10-15, waiting 10-11, running 11-15, job 20-90, waiting 20-30, running 30-90, missed 80-80, job 100-200, waiting 100-200, "
        "missed 160-160");
}

static void a_lost_event_makes_time_unknown_and_nothing_else(void **state)
{
    (void)state;
    waking(10, CAM);
    change(12, 0, HOG, 0, 0); /* from here on CPU 0 idles, by the records */
    change(20, 0, CAM, SLEEPING, 0);
    build(30);
    assert_int_equal(threads[0].lost, 1);
    assert_int_equal(threads[0].ran, 0);
    assert_int_equal(threads[0].lost_time, 8 * MS);
    assert_int_equal(timeline.gaps[0], 1);
    assert_int_equal(timeline.gaps[1], 0);
    spans_are("job 10-20, waiting 10-12, lost 12-20");
    /* the event that took it off its CPU is lost */
    change(1, 0, HOG, 0, CAM);
    change(5, 1, HOG, 0, CAM);
    change(7, 1, CAM, SLEEPING, 0);
    build(30);
    assert_int_equal(threads[0].lost, 1);
    spans_are("lost 1-5, running 5-7");
    /* its replenishment is lost */
    change(1, 0, 0, 0, CAM);
    timer(21, CAM, 7, 60);
    change(21, 0, CAM, 0, 0);
    change(63, 0, 0, 0, CAM);
    build(70);
    assert_int_equal(threads[0].lost, 1);
    spans_are("running 1-21, throttled 21-60, lost 60-63, running 63-70");
    /* its wakeup is lost, so there is no job to judge */
    change(1, 0, CAM, SLEEPING, 0);
    change(5, 0, 0, 0, CAM);
    change(95, 0, CAM, SLEEPING, 0);
    build(100);
    assert_int_equal(threads[0].lost, 1);
    assert_int_equal(threads[0].missed, 0);
    spans_are("running 0-1, running 5-95");
}

/* rtf-guard takes the policy of a thread with a fixed priority until its next period. */
static void a_thread_that_the_guard_suspends_is_throttled_and_may_run_as_an_ordinary_one(
    void **state)
{
    (void)state;
    change(1, 0, 0, 0, CAM);
    change(5, 0, CAM, 0, HOG);
    records[count - 1].priority = 80;
    change(6, 0, HOG, 0, CAM);
    records[count - 1].next_priority = 80;
    change(20, 0, CAM, 0, HOG);
    records[count - 1].priority = 120;
    change(30, 0, HOG, 0, CAM);
    records[count - 1].next_priority = 120;
    change(35, 0, CAM, 0, HOG);
    records[count - 1].priority = 120;
    change(60, 0, HOG, 0, CAM);
    records[count - 1].next_priority = 80;
    build(70);
    assert_int_equal(threads[0].throttles, 2);
    assert_int_equal(threads[0].throttled, 35 * MS);
    assert_int_equal(threads[0].lost, 0);
    for (size_t i = 0; i < timeline.span_count; i++)
        assert_int_equal(timeline.spans[i].value, timeline.spans[i].from == 30 * MS);
    spans_are(
        "running 1-5, waiting 5-6, running 6-20, throttled 20-30, running 30-35, throttled 35-60, running 60-70");
}

static void a_later_thread_with_the_id_is_another_one(void **state)
{
    (void)state;
    change(1, 0, 0, 0, CAM);
    change(5, 0, CAM, DEAD, 0);
    change(20, 0, 0, 0, CAM);
    waking(25, CAM);
    change(30, 0, CAM, SLEEPING, 0);
    build(40);
    assert_true(threads[0].ended);
    spans_are("running 1-5");
}

/* ---- spans nest, whatever the records are ---- */

static struct record *at_random(int64_t time)
{
    static const pid_t tids[] = {0, CAM, OTHER, HOG};
    struct record *record =
        at(time, (enum record_kind)random_below(RECORD_REPLENISH + 1), (int)random_below(2));
    record->to_cpu = (uint16_t)random_below(2);
    record->thread = tids[random_below(4)];
    record->next = tids[random_below(4)];
    record->state = random_below(3) != 0 ? 0 : random_below(2) == 0 ? SLEEPING : DEAD;
    record->priority = (int16_t)(random_below(3) == 0 ? 120 : -1);
    record->next_priority = (int16_t)(random_below(3) == 0 ? 120 : -1);
    record->timer = random_within(7, 8);
    record->expires = (time + (int64_t)random_below(100)) * MS;
    return record;
}

/* Each span begins at or after the span before, and ends before each earlier span that it begins
 * in, as the reader of the JSON demands. */
static void check_that_spans_nest(uint32_t thread, int round)
{
    int64_t ends[RECORDS * 4] = {INT64_MAX}, last = timeline.begin;
    size_t depth = 1;
    for (size_t i = 0; i < timeline.span_count; i++) {
        const struct span *span = &timeline.spans[i];
        check(span->from >= last && span->to >= span->from && span->to <= timeline.end,
              "round %d: span %zu is not in order", round, i);
        last = span->from;
        if (span->thread != thread || span->kind >= MARK_REPLENISHED)
            continue;
        while (ends[depth - 1] <= span->from)
            depth--;
        check(span->to <= ends[depth - 1], "round %d: span %zu does not nest", round, i);
        assert_true(depth < sizeof ends / sizeof *ends);
        ends[depth++] = span->to;
    }
}

static void spans_of_any_records_are_sorted_and_nest(void **state)
{
    (void)state;
    random_from(46);
    for (int round = 0; round < ROUNDS(20000); round++) {
        int64_t time = 0;
        const int length = (int)random_within(1, RECORDS);
        for (int i = 0; i < length; i++)
            (void)at_random(time += (int64_t)random_below(40));
        build(time + (int64_t)random_below(200));
        for (uint32_t thread = 0; thread < 2; thread++)
            check_that_spans_nest(thread, round);
        timeline_free(&timeline);
    }
}

/* ---- as JSON ---- */

static char *json_of(const struct record *all, size_t all_count, size_t *length)
{
    static const struct trace_label labels[] = {
        {.user = "ann", .name = "cam", .comm = "a:[( \033\"=", .process = CAM, .cpu_time = -1},
        {.user = "ann", .name = "other", .comm = "\xff", .process = CAM, .cpu_time = 5}};
    struct recording *recording = recording_new(timeline.cpus);
    const struct trace trace = {.timeline = &timeline,
                                .labels = labels,
                                .records = all,
                                .record_count = all_count,
                                .recording = recording,
                                .none = "swapper"};
    char *text;
    recording_put_name(recording, CAM, "a:[( \033\"=\0\0\0\0\0\0\0");
    FILE *stream = open_memstream(&text, length);
    trace_json_write(&trace, stream);
    fclose(stream);
    recording_free(recording);
    return text;
}

static void a_name_of_a_user_breaks_neither_the_json_nor_a_line(void **state)
{
    size_t length;
    (void)state;
    change(1, 0, 0, 0, CAM);
    change(5, 0, CAM, SLEEPING, 0);
    build(10);
    char *text = json_of(records, 2, &length);
    assert_non_null(strstr(text, "\"name\":\"cam (a:[( \\\\u001b\\\"=)\"}"));
    assert_non_null(strstr(text, "\"name\":\"other (\\\\u00ff)\"}"));
    assert_non_null(strstr(
        text,
        "\\na_______-100 (-----) [000] .... 0.005000000: sched_switch: prev_comm=a_______ "
        "prev_pid=100 prev_prio=0 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=0\\n\""));
    free(text);
    timeline_free(&timeline);
}

static void a_picture_for_a_terminal_shows_what_most_of_a_cell_is(void **state)
{
    static const struct trace_label labels[] = {{.user = "ann", .name = "cam"},
                                                {.user = "b`o'b", .name = "\033"}};
    struct trace trace = {.timeline = &timeline, .labels = labels};
    size_t length;
    char *text;
    (void)state;
    change(0, 0, 0, 0, CAM);
    timer(20, CAM, 7, 60);
    change(20, 0, CAM, 0, 0);
    replenish(60, 7);
    change(70, 0, HOG, 0, CAM); /* the chain is broken, but not at CAM */
    change(80, 0, CAM, SLEEPING, OTHER);
    change(81, 0, OTHER, SLEEPING, HOG);
    build(1000);
    const struct trace_window window = trace_window(&timeline, 200 * MS);
    assert_int_equal(trace_window(&timeline, 0).to, 500 * MS); /* five times 100 ms */
    assert_int_equal(trace_window(&timeline, 2000 * MS).to, 1000 * MS);
    FILE *stream = open_memstream(&text, &length);
    trace_gantt_write(&trace, window, 47, stream);
    fclose(stream);
    assert_string_equal(text, "                         |0         200.000 ms|\n"
                              "ann/cam                  |##----.#            |\n"
                              "                                ^             \n"
                              "b`o'b/\\u001b             |        #           |\n");
    free(text);
    stream = open_memstream(&text, &length);
    trace_plot_write(&trace, window, stream);
    fclose(stream);
    assert_non_null(strstr(text, "set ytics ('ann/cam' 133, 'b?o?b/?u001b' 33)\n"));
    assert_non_null(strstr(text, "$throttled << END\n-1 -1 -1000\n20.000 60.000 100\nEND\n"));
    assert_non_null(strstr(text, "$replenished << END\n-1 -1000\n60.000 100\nEND\n"));
    free(text);
    timeline_free(&timeline);
}

/* 100,000 events become JSON in less than a second. */
static void many_events_take_little_time(void **state)
{
    enum { MANY = 100000 };
    static struct record many[MANY];
    size_t length;
    (void)state;
    for (int i = 0; i < MANY; i++)
        many[i] = (struct record){.time = i * MS / 10,
                                  .kind = RECORD_SWITCH,
                                  .thread = i % 2 == 0 ? 0 : CAM,
                                  .next = i % 2 == 0 ? CAM : 0};
    build(0);
    timeline_free(&timeline);
    timeline.end = many[MANY - 1].time;
    const clock_t begin = clock();
    assert_true(timeline_build(&timeline, many, MANY));
    char *text = json_of(many, MANY, &length);
    const double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_int_equal(threads[0].lost, 0);
    check(took < 1.0 || ROUNDS(4) != 4, "%.3f s of CPU time", took);
    free(text);
    timeline_free(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_never_sleeps_is_throttled_until_its_next_period),
        cmocka_unit_test(the_timer_of_another_is_not_taken_for_the_threads_own),
        cmocka_unit_test(a_job_that_ends_after_its_deadline_is_missed),
        cmocka_unit_test(a_lost_event_makes_time_unknown_and_nothing_else),
        cmocka_unit_test(
            a_thread_that_the_guard_suspends_is_throttled_and_may_run_as_an_ordinary_one),
        cmocka_unit_test(a_later_thread_with_the_id_is_another_one),
        cmocka_unit_test(spans_of_any_records_are_sorted_and_nest),
        cmocka_unit_test(a_name_of_a_user_breaks_neither_the_json_nor_a_line),
        cmocka_unit_test(a_picture_for_a_terminal_shows_what_most_of_a_cell_is),
        cmocka_unit_test(many_events_take_little_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
