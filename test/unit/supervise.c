/* The supervisor's state machine: each edge of the picture in supervise.h, its pauses and its one
 * timer. The test itself is the program: it has the ends of the pipes that the launcher would give
 * to a child. */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "send-fds.h"
#include "../stubs.h"
#include "unit.h"

static const int64_t FIRST = 100 * MS, LONGEST = 400 * MS, BEHAVES = 10000 * MS, GREETS = 5000 * MS;

static struct program program;
static struct program_description is;
static int child_in = -1, child_out = -1; /* the ends that a child has */
static int starts, starts_again, gone, messages, rooms;
static bool can_start;
static char last_said[64], last_why[128], logged[640], logged_as[64];
static int logs, passed = -1, disposed;

static void close_child(void)
{
    if (child_in >= 0)
        close(child_in);
    if (child_out >= 0)
        close(child_out);
    child_in = child_out = -1;
}

static bool start_child(int child, int in, int out, int keep)
{
    (void)child;
    (void)keep;
    close_child();
    errno = EMFILE;
    if (!can_start)
        return false;
    child_in = fcntl(in, F_DUPFD_CLOEXEC, 10);
    child_out = out == STDERR_FILENO ? -1 : fcntl(out, F_DUPFD_CLOEXEC, 10);
    return true;
}

static void on_start(struct program *of, bool again)
{
    assert_ptr_equal(of, &program);
    starts++;
    starts_again += again;
}

/* "greeting=1" is the greeting, "no=1" is refused, and "keep=1" takes the descriptor. */
static bool on_message(struct program *of, const struct paragraph *message, int *fd)
{
    messages++;
    snprintf(last_said, sizeof last_said, "%s", message->pair[0].key);
    if (paragraph_get(message, "greeting") != NULL)
        supervise_greeted(of);
    if (paragraph_get(message, "keep") != NULL) {
        passed = *fd;
        *fd = -1;
    }
    return paragraph_get(message, "no") == NULL;
}

static void on_gone(struct program *of, const char *why)
{
    assert_int_equal(of->state, PROGRAM_BACKING_OFF);
    snprintf(last_why, sizeof last_why, "%s", why);
    gone++;
}

static void on_room(struct program *of)
{
    assert_true(supervise_runs(of));
    rooms++;
}

static void dispose(int fd)
{
    close(fd);
    disposed++;
}

static void note_log(const char *plugin, const char *decision, const char *sentence)
{
    snprintf(logged_as, sizeof logged_as, "%s %s", plugin == NULL ? "broker" : plugin, decision);
    snprintf(logged, sizeof logged, "%s", sentence == NULL ? "" : sentence);
    logs++;
}

static void prepare(void)
{
    char *const argv[] = {(char *)"/bin/true", NULL};
    supervise_prepare(&program, &is, argv, (struct identity_to_run_as){0, 0});
}

static int set_up(void **state)
{
    (void)state;
    is = (struct program_description){.name = "the helper",
                                      .talk = COPROCESS_PIPES,
                                      .first_pause = FIRST,
                                      .longest_pause = LONGEST,
                                      .behaves_after = BEHAVES,
                                      .on_start = on_start,
                                      .on_message = on_message,
                                      .on_gone = on_gone};
    starts = starts_again = gone = messages = rooms = logs = disposed = stub_ended = 0;
    last_said[0] = last_why[0] = logged[0] = logged_as[0] = '\0';
    can_start = true;
    stub_start = start_child;
    supervise_log_to(note_log);
    prepare();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    supervise_stop(&program);
    paragraph_input_free(&program.process.input);
    paragraph_output_free(&program.process.output);
    close_child();
    if (passed >= 0)
        close(passed);
    passed = -1;
    assert_null(timers_first());
    return 0;
}

static void say(const char *text)
{
    assert_int_equal(write(child_out >= 0 ? child_out : child_in, text, strlen(text)),
                     strlen(text));
}

/* Runs one turn of the loop. */
static void turn(void)
{
    loop_turn(true);
    timers_run();
}

static void ends(void)
{
    close_child();
    turn();
}

/* The program has a fault, so that its next fault is followed by a pause. */
static void has_a_pause(void)
{
    program.pause = FIRST;
}

static void start(void)
{
    assert_true(supervise_start(&program, -1, -1));
}

static void start_greeting(void)
{
    is.greets_within = GREETS;
    start();
    assert_int_equal(program.state, PROGRAM_STARTING);
}

/* ---- STOPPED ---- */

static void one_that_need_not_greet_serves_at_once_and_has_no_timer(void **state)
{
    (void)state;
    start();
    assert_int_equal(program.state, PROGRAM_SERVING);
    assert_int_equal(starts, 1);
    assert_int_equal(starts_again, 0);
    assert_null(timers_first());
    assert_int_equal(logs, 0);
}

static void one_that_greets_serves_from_then_on(void **state)
{
    (void)state;
    start_greeting();
    assert_int_equal(program.timer.at, clock_now + GREETS);
    say("greeting=1\n\n");
    turn();
    assert_int_equal(program.state, PROGRAM_SERVING);
    assert_null(timers_first());
}

static void one_that_cannot_be_started_first_stays_stopped(void **state)
{
    (void)state;
    can_start = false;
    assert_false(supervise_start(&program, -1, -1));
    assert_int_equal(errno, EMFILE);
    assert_int_equal(program.state, PROGRAM_STOPPED);
    assert_null(timers_first());
    assert_int_equal(starts, 0);
}

/* ---- faults ---- */

static void is_backing_off_because(const char *why)
{
    check(program.state == PROGRAM_BACKING_OFF, "%d", (int)program.state);
    assert_string_equal(last_why, why);
    assert_int_equal(gone, 1);
    assert_int_equal(logs, 1);
    assert_int_equal(stub_ended, 1);
}

/* A turn without timers_run. The first start after a fault is due at once, and must not happen
 * here. */
static void hear(void)
{
    loop_turn(true);
}

static void the_end_is_a_fault_and_what_was_said_before_counts(void **state)
{
    (void)state;
    start();
    say("one=1\n\ntwo=2\n\nhal");
    close_child();
    hear();
    hear(); /* the next read finds the end */
    assert_int_equal(messages, 2);
    is_backing_off_because("it ended");
}

static void form_and_sense_are_faults(void **state)
{
    (void)state;
    start();
    say("no=1\n\nmore=1\n\n");
    hear();
    is_backing_off_because("it sends what its protocol does not allow");
    assert_int_equal(messages, 1); /* the program's other messages are ignored */
    supervise_stop(&program);
    gone = logs = stub_ended = 0;
    start();
    say("rubbish\n\n");
    hear();
    is_backing_off_because("it sends a line without '='");
}

static void one_that_is_failed_is_killed_once(void **state)
{
    (void)state;
    start();
    supervise_fail(&program, "it lied");
    supervise_fail(&program, "it lied again");
    is_backing_off_because("it lied");
}

static void one_that_does_not_greet_in_time_is_killed(void **state)
{
    (void)state;
    start_greeting();
    has_a_pause();
    clock_now += GREETS - 1;
    timers_run();
    assert_int_equal(program.state, PROGRAM_STARTING);
    clock_now += 1;
    timers_run();
    is_backing_off_because(SUPERVISE_NO_GREETING);
}

static void one_that_ends_before_it_greets_is_started_again(void **state)
{
    (void)state;
    start_greeting();
    close_child();
    hear();
    is_backing_off_because("it ended");
    timers_run();
    assert_int_equal(program.state, PROGRAM_STARTING);
    assert_int_equal(program.timer.at, clock_now + GREETS);
}

static void one_that_does_not_answer_in_time_is_killed(void **state)
{
    (void)state;
    start();
    has_a_pause();
    supervise_expect(&program, 50 * MS);
    clock_now += 50 * MS;
    timers_run();
    is_backing_off_because("it did not answer in time");
}

static void one_that_owes_nothing_has_no_time(void **state)
{
    (void)state;
    start();
    supervise_expect(&program, 50 * MS);
    supervise_expect(&program, INT64_MAX);
    assert_null(timers_first());
}

static void nothing_but_the_greeting_is_expected_before_it(void **state)
{
    (void)state;
    start_greeting();
    supervise_expect(&program, 50 * MS);
    assert_int_equal(program.timer.at, clock_now + GREETS);
}

static void what_the_broker_has_not_read_yet_is_not_late(void **state)
{
    (void)state;
    start();
    supervise_expect(&program, 50 * MS);
    say("answer=1\n\n");
    clock_now += 60 * MS;
    timers_run();
    assert_int_equal(messages, 1);
    assert_int_equal(program.state, PROGRAM_SERVING);
    /* on_message has not reported that nothing is owed, so the timer is still set */
    assert_int_equal(program.timer.at, clock_now + 50 * MS);
}

static void half_an_answer_is_a_sign_of_life_and_an_end_is_an_end(void **state)
{
    (void)state;
    start();
    has_a_pause();
    supervise_expect(&program, 50 * MS);
    say("answ");
    clock_now += 50 * MS;
    timers_run();
    assert_int_equal(program.state, PROGRAM_SERVING);
    close_child();
    clock_now += 50 * MS;
    timers_run();
    is_backing_off_because("it ended");
}

/* ---- BACKING_OFF ---- */

static void pauses_grow_up_to_the_longest(void **state)
{
    (void)state;
    const int64_t pauses[] = {0, FIRST, 2 * FIRST, LONGEST, LONGEST};
    start();
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        close_child();
        hear();
        assert_int_equal(program.state, PROGRAM_BACKING_OFF);
        assert_int_equal(program.timer.at, clock_now + pauses[i]);
        clock_to(clock_now + pauses[i]);
        assert_int_equal(program.state, PROGRAM_SERVING);
        assert_int_equal(starts_again, (int)i + 1);
    }
}

static void one_that_has_served_for_long_begins_anew(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        ends();
        clock_to(clock_now + LONGEST);
    }
    clock_to(clock_now + BEHAVES + 1);
    close_child();
    hear();
    assert_int_equal(program.timer.at, clock_now);
    timers_run();
    close_child();
    hear();
    assert_int_equal(program.timer.at, clock_now + FIRST);
}

static void one_that_was_as_long_without_a_greeting_does_not(void **state)
{
    (void)state;
    is.greets_within = 2 * BEHAVES;
    start();
    ends();
    clock_now += BEHAVES + 1;
    close_child();
    hear();
    assert_int_equal(program.timer.at, clock_now + FIRST);
}

static void one_that_cannot_be_started_again_has_the_longest_pause(void **state)
{
    (void)state;
    start();
    can_start = false;
    ends();
    assert_int_equal(program.state, PROGRAM_BACKING_OFF);
    assert_int_equal(program.timer.at, clock_now + LONGEST);
    assert_string_equal(logged, "the helper cannot be started: Too many open files");
    assert_string_equal(logged_as, "broker error");
    can_start = true;
    clock_to(clock_now + LONGEST);
    assert_int_equal(program.state, PROGRAM_SERVING);
}

static void whoever_hurries_starts_it_without_a_pause(void **state)
{
    (void)state;
    start();
    ends();
    ends();
    assert_int_equal(program.state, PROGRAM_BACKING_OFF);
    assert_true(supervise_hurry(&program));
    assert_int_equal(program.state, PROGRAM_SERVING);
    assert_null(timers_first());
    assert_true(supervise_hurry(&program));
    assert_int_equal(starts, 3);
    supervise_stop(&program);
    assert_false(supervise_hurry(&program)); /* only supervise_start starts a stopped program */
}

static void fail_at_start(struct program *of, bool again)
{
    (void)again;
    supervise_fail(of, "it takes nothing");
}

static void one_that_is_failed_while_it_is_told_the_first_things_is_backing_off(void **state)
{
    (void)state;
    is.on_start = fail_at_start;
    assert_false(supervise_start(&program, -1, -1));
    is_backing_off_because("it takes nothing");
}

/* ---- ENDING, STOPPED ---- */

static void the_end_of_one_that_ends_is_no_fault(void **state)
{
    (void)state;
    start();
    supervise_expect(&program, 50 * MS);
    supervise_finish(&program);
    assert_int_equal(program.state, PROGRAM_ENDING);
    assert_null(timers_first());
    say("last=1\n\n");
    turn();
    assert_int_equal(messages, 1);
    ends();
    assert_int_equal(program.state, PROGRAM_STOPPED);
    assert_null(timers_first());
    assert_int_equal(gone + logs, 0);
}

static void nonsense_of_one_that_ends_is_no_fault_either(void **state)
{
    (void)state;
    start();
    supervise_finish(&program);
    say("rubbish\n\n");
    turn();
    assert_int_equal(program.state, PROGRAM_STOPPED);
    assert_int_equal(gone + logs, 0);
}

static void one_that_is_away_is_not_started_to_end(void **state)
{
    (void)state;
    start();
    ends();
    ends();
    supervise_finish(&program);
    assert_int_equal(program.state, PROGRAM_STOPPED);
    assert_null(timers_first());
}

static void each_state_can_be_stopped(void **state)
{
    (void)state;
    supervise_stop(&program);
    start_greeting();
    supervise_stop(&program);
    assert_int_equal(program.state, PROGRAM_STOPPED);
    assert_null(timers_first());
    is.greets_within = 0;
    start();
    supervise_expect(&program, 50 * MS);
    supervise_stop(&program);
    assert_null(timers_first());
    start();
    ends();
    ends();
    assert_int_equal(program.state, PROGRAM_BACKING_OFF);
    supervise_stop(&program);
    assert_null(timers_first());
    start();
    supervise_finish(&program);
    supervise_stop(&program);
    assert_int_equal(program.state, PROGRAM_STOPPED);
    assert_int_equal(gone, 2);
}

/* ---- the log ---- */

static void the_log_says_who_why_and_what_does_not_work(void **state)
{
    (void)state;
    is.meanwhile = "until then nobody counts";
    start();
    ends();
    assert_string_equal(logged, "the helper is started again: it ended; until then nobody counts");
    assert_string_equal(logged_as, "broker error");
    is.is_plugin = true;
    is.name = "EDF";
    ends();
    assert_string_equal(logged, "it ended");
    assert_string_equal(logged_as, "EDF killed");
}

static void the_log_says_when_a_plugin_serves(void **state)
{
    (void)state;
    is.is_plugin = true;
    is.name = "EDF";
    start_greeting();
    say("greeting=1\n\n");
    turn();
    assert_string_equal(logged_as, "EDF started");
    ends();
    say("greeting=1\n\n");
    turn();
    assert_string_equal(logged_as, "EDF restarted");
}

/* ---- waiting ---- */

static void who_waits_hears(void **state)
{
    (void)state;
    start();
    say("answer=1\n\n");
    assert_true(supervise_wait(&program, clock_now + 1000 * MS));
    assert_int_equal(messages, 1);
    assert_false(supervise_wait(&program, clock_now));
    close_child();
    assert_true(supervise_wait(&program, clock_now + 1000 * MS));
    assert_false(supervise_wait(&program, clock_now + 1000 * MS));
    is_backing_off_because("it ended");
}

/* ---- how they talk ---- */

static void one_on_a_socket_passes_descriptors(void **state)
{
    (void)state;
    int ends_of_pipe[2];
    is.talk = COPROCESS_SOCKET;
    is.on_room = on_room;
    start();
    assert_int_equal(pipe(ends_of_pipe), 0);
    assert_true(send_with_fd(child_in, "keep=1\n\n", 8, ends_of_pipe[0], 0));
    turn();
    assert_true(passed >= 0);
    assert_int_equal(rooms, 1);
    is.dispose = dispose;
    assert_true(send_with_fd(child_in, "other=1\n\n", 9, ends_of_pipe[0], 0));
    turn();
    assert_int_equal(disposed, 1);
    assert_int_equal(messages, 2);
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
    ends();
    assert_string_equal(last_why, "it ended");
}

static void one_that_is_fed_has_its_input_from_the_caller(void **state)
{
    (void)state;
    char byte = 0;
    int feed[2];
    assert_int_equal(pipe(feed), 0);
    is.talk = COPROCESS_FED;
    assert_true(supervise_start(&program, feed[0], -1));
    for (int i = 0; i < 2; i++) { /* the next program continues with the same input */
        assert_int_equal(write(feed[1], "xy" + i, 1), 1);
        assert_int_equal(read(child_in, &byte, 1), 1);
        assert_int_equal(byte, "xy"[i]);
        ends();
        assert_int_equal(program.state, i == 0 ? PROGRAM_SERVING : PROGRAM_BACKING_OFF);
    }
    close(feed[0]);
    close(feed[1]);
}

static int begin(void **state)
{
    (void)state;
    loop_start();
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_that_need_not_greet_serves_at_once_and_has_no_timer),
        TEST(one_that_greets_serves_from_then_on),
        TEST(one_that_cannot_be_started_first_stays_stopped),
        TEST(the_end_is_a_fault_and_what_was_said_before_counts),
        TEST(form_and_sense_are_faults),
        TEST(one_that_is_failed_is_killed_once),
        TEST(one_that_does_not_greet_in_time_is_killed),
        TEST(one_that_ends_before_it_greets_is_started_again),
        TEST(one_that_does_not_answer_in_time_is_killed),
        TEST(one_that_owes_nothing_has_no_time),
        TEST(nothing_but_the_greeting_is_expected_before_it),
        TEST(what_the_broker_has_not_read_yet_is_not_late),
        TEST(half_an_answer_is_a_sign_of_life_and_an_end_is_an_end),
        TEST(pauses_grow_up_to_the_longest),
        TEST(one_that_has_served_for_long_begins_anew),
        TEST(one_that_was_as_long_without_a_greeting_does_not),
        TEST(one_that_cannot_be_started_again_has_the_longest_pause),
        TEST(whoever_hurries_starts_it_without_a_pause),
        TEST(one_that_is_failed_while_it_is_told_the_first_things_is_backing_off),
        TEST(the_end_of_one_that_ends_is_no_fault),
        TEST(nonsense_of_one_that_ends_is_no_fault_either),
        TEST(one_that_is_away_is_not_started_to_end),
        TEST(each_state_can_be_stopped),
        TEST(the_log_says_who_why_and_what_does_not_work),
        TEST(the_log_says_when_a_plugin_serves),
        TEST(who_waits_hears),
        TEST(one_on_a_socket_passes_descriptors),
        TEST(one_that_is_fed_has_its_input_from_the_caller),
    };
    return cmocka_run_group_tests_name("supervise", tests, begin, NULL);
}
