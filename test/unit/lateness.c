/* libexec/watch/stretches.c and lateness-causes.c: why a job was late, and when this is not known.
 * Times are in ms. */
#include "watch/lateness-causes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "unit.h"
#include "watch/occupancy.h"

enum { CAM = 100, HOLDER = 101, OTHER = 200, THIRD = 201, BUSY = 300, RECORDS = 256 };
enum { SLEEPING = 1, IN_DISK = 2, STOPPED = 4, DEADLINE_PRIORITY = -1, ORDINARY_PRIORITY = 120 };

static struct record records[RECORDS];
static size_t count;
static struct traced thread;
static struct timeline timeline;
static struct stretches stretches;
static struct explained_job *late;
static size_t late_count;
static bool sees_all;
static int64_t tick;

static int set_up(void **state)
{
    (void)state;
    count = 0;
    sees_all = true;
    tick = 0;
    thread = (struct traced){
        .tid = CAM, .runtime = 3 * MS, .period = 20 * MS, .deadline = 20 * MS, .real_time = true};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(late);
    stretches_free(&stretches);
    timeline_free(&timeline);
    late = NULL;
    return 0;
}

static struct record *at(double time, enum record_kind kind)
{
    records[count] = (struct record){.time = (int64_t)(time * MS), .kind = (uint8_t)kind};
    return &records[count++];
}

static int16_t priority_of(pid_t tid)
{
    return tid == BUSY || tid == 0 ? ORDINARY_PRIORITY : DEADLINE_PRIORITY;
}

static struct record *change(double time, pid_t from, int state, pid_t to)
{
    struct record *record = at(time, RECORD_SWITCH);
    record->thread = from;
    record->state = (uint16_t)state;
    record->next = to;
    record->priority = priority_of(from);
    record->next_priority = priority_of(to);
    return record;
}

static void wake(double time, pid_t waker)
{
    struct record *record = at(time, RECORD_WAKING);
    record->thread = CAM;
    record->next = waker;
    record->state = waker == 0 ? WOKEN_BY_INTERRUPT : 0;
}

static void call(double time, int number)
{
    struct record *record = at(time, RECORD_CALL);
    record->thread = CAM;
    record->call = (uint16_t)number;
}

static void event(double time, enum record_kind kind)
{
    at(time, kind)->thread = CAM;
}

static void timer_interrupt(double time)
{
    event(time, RECORD_INTERRUPT);
    records[count - 1].state = INTERRUPT_OF_TIMER;
    event(time + 0.01, RECORD_RESUME);
}

/* The thread sleeps until the time, when a timer wakes it, and it gets the CPU at once. */
static void begin_job(double time)
{
    wake(time, 0);
    change(time, 0, 0, CAM);
    event(time, RECORD_RETURN);
}

static void end_job(double time)
{
    call(time, SYS_clock_nanosleep);
    change(time, CAM, SLEEPING, 0);
}

/* Three jobs in time, each of 2 ms, at 20, 40 and 60 ms. */
static void begin(void)
{
    change(1, 0, 0, CAM);
    for (int job = 0; job < 4; job++) {
        if (job > 0)
            begin_job(20 * job);
        end_job(20 * job + 2);
    }
}

static void explain(double end, struct job *marked, size_t marked_count)
{
    struct job *jobs = NULL;
    size_t job_count = marked_count;
    timeline = (struct timeline){.end = (int64_t)(end * MS),
                                 .threads = &thread,
                                 .thread_count = 1,
                                 .cpus = 2};
    assert_true(timeline_build(&timeline, records, count));
    const struct stretches_source source = {.timeline = &timeline,
                                            .records = records,
                                            .count = count,
                                            .sees_all = sees_all,
                                            .has_faults = true,
                                            .tick = tick};
    assert_true(stretches_build(&source, &stretches));
    if (marked == NULL)
        assert_true(jobs_find(&stretches, thread.deadline, &jobs, &job_count));
    assert_true(lateness_explain(&stretches, marked == NULL ? jobs : marked, job_count,
                                 thread.runtime, &late, &late_count));
    free(jobs);
}

/* One job is late, for this cause, which took so many ms. */
static void cause_is(enum cause cause, double time)
{
    assert_int_equal(late_count, 1);
    assert_int_equal(late[0].order[0], cause);
    assert_int_equal(late[0].times[cause], (int64_t)(time * MS));
}

static void jobs_in_time_have_no_cause(void **state)
{
    (void)state;
    begin();
    explain(90, NULL, 0);
    assert_int_equal(late_count, 0);
}

static void a_job_that_runs_longer_than_its_runtime_is_late_for_that_also_while_it_is_throttled(
    void **state)
{
    (void)state;
    begin();
    begin_job(80);
    struct record *start = at(83, RECORD_THROTTLE);
    start->thread = CAM;
    start->timer = 7;
    start->expires = 100 * MS;
    change(83, CAM, 0, 0);
    at(100, RECORD_REPLENISH)->timer = 7;
    change(100, 0, 0, CAM);
    end_job(102);
    explain(110, NULL, 0);
    cause_is(CAUSE_OVERRUN, 2);
    assert_int_equal(late[0].ran, 5 * MS);
    assert_int_equal(late[0].order[1], CAUSE_THROTTLED);
    assert_int_equal(late[0].times[CAUSE_THROTTLED], 17 * MS);
    assert_int_equal(late[0].longest[CAUSE_THROTTLED].until, 100 * MS);
    assert_int_equal(late[0].job.release, 80 * MS);
    assert_int_equal(late[0].number, 4);
}

/* Earlier jobs have used the runtime. */
static void a_job_within_its_runtime_that_is_throttled_is_late_for_the_throttle(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    struct record *start = at(82, RECORD_THROTTLE);
    start->thread = CAM;
    start->timer = 7;
    start->expires = 100 * MS;
    change(82, CAM, 0, 0);
    at(100, RECORD_REPLENISH)->timer = 7;
    change(100, 0, 0, CAM);
    end_job(101);
    explain(110, NULL, 0);
    cause_is(CAUSE_THROTTLED, 18);
}

static void a_thread_that_is_woken_while_it_is_throttled_waits_for_its_replenishment(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    struct record *start = at(82, RECORD_THROTTLE);
    start->thread = CAM;
    start->timer = 7;
    start->expires = 100 * MS;
    change(82, CAM, 0, OTHER);
    change(82, OTHER, 0, 0);
    at(100, RECORD_REPLENISH)->timer = 7;
    change(100, 0, 0, CAM);
    struct record *again = at(101, RECORD_THROTTLE);
    again->thread = CAM;
    again->timer = 7;
    again->expires = 125 * MS;
    end_job(101);
    wake(102, 0);
    at(125, RECORD_REPLENISH)->timer = 7;
    change(125.01, 0, 0, CAM);
    end_job(126);
    explain(130, NULL, 0);
    assert_int_equal(late_count, 2);
    assert_int_equal(late[1].order[0], CAUSE_THROTTLED);
    assert_int_equal(late[1].times[CAUSE_THROTTLED], 23 * MS);
    assert_int_equal(late[1].longest[CAUSE_THROTTLED].until, 125 * MS);
}

static void a_lock_is_no_end_of_a_job_and_its_holder_is_the_one_who_wakes(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    call(81, SYS_futex);
    change(81, CAM, SLEEPING, 0);
    wake(105, HOLDER);
    change(105, 0, 0, CAM);
    event(105, RECORD_RETURN);
    end_job(106);
    explain(110, NULL, 0);
    cause_is(CAUSE_LOCK, 24);
    assert_int_equal(late[0].longest[CAUSE_LOCK].holder, HOLDER);
}

static void a_condition_that_a_timer_ends_is_the_end_of_a_job(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    call(81, SYS_futex);
    change(81, CAM, SLEEPING, 0);
    begin_job(105);
    end_job(106);
    explain(110, NULL, 0);
    assert_int_equal(late_count, 0);
}

static void a_sleep_outside_of_a_system_call_is_a_page_fault(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    event(81, RECORD_FAULT);
    change(81, CAM, IN_DISK, 0);
    wake(104, 0);
    change(104, 0, 0, CAM);
    end_job(106);
    explain(110, NULL, 0);
    cause_is(CAUSE_FAULT, 23);
}

static void a_thread_that_sleeps_without_a_call_and_a_page_fault_is_stopped(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    change(81, CAM, SLEEPING, 0);
    wake(104, OTHER);
    change(104, 0, 0, CAM);
    end_job(106);
    explain(110, NULL, 0);
    cause_is(CAUSE_STOPPED, 23);
}

static void a_sleep_in_another_system_call_has_its_number(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    call(81, SYS_read);
    change(81, CAM, IN_DISK, 0);
    wake(95, 0);
    change(95, 0, 0, CAM);
    change(96, CAM, SLEEPING, 0);
    wake(104, OTHER);
    change(104, 0, 0, CAM);
    event(104, RECORD_RETURN);
    end_job(105);
    explain(110, NULL, 0);
    cause_is(CAUSE_CALL, 22);
    assert_int_equal(late[0].longest[CAUSE_CALL].call, SYS_read);
}

static void a_signal_stops_a_job(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    change(81, CAM, STOPPED, 0);
    wake(131, OTHER);
    change(131, 0, 0, CAM);
    end_job(132);
    explain(140, NULL, 0);
    cause_is(CAUSE_STOPPED, 50);
}

static void threads_of_the_same_rank_are_counted_while_the_thread_waits(void **state)
{
    (void)state;
    begin();
    change(79, 0, 0, OTHER);
    wake(80, 0);
    change(90, OTHER, 0, THIRD);
    change(98, THIRD, 0, OTHER);
    change(104, OTHER, 0, CAM);
    event(104, RECORD_RETURN);
    end_job(106);
    explain(110, NULL, 0);
    cause_is(CAUSE_OTHERS, 24);
    assert_int_equal(late[0].longest[CAUSE_OTHERS].others, 2);
}

static void a_thread_of_a_lower_rank_and_an_idle_cpu_are_told_apart(void **state)
{
    (void)state;
    begin();
    change(79, 0, 0, BUSY);
    wake(80, 0);
    change(104, BUSY, 0, CAM);
    event(104, RECORD_RETURN);
    end_job(106);
    wake(120, 0);
    change(150, 0, 0, CAM);
    event(150, RECORD_RETURN);
    end_job(151);
    explain(160, NULL, 0);
    assert_int_equal(late_count, 2);
    assert_int_equal(late[0].order[0], CAUSE_LOWER);
    assert_int_equal(late[0].times[CAUSE_LOWER], 24 * MS);
    assert_int_equal(late[1].order[0], CAUSE_HOST);
    assert_int_equal(late[1].times[CAUSE_HOST], 30 * MS);
}

/* rtf-guard has taken the policy from the thread. */
static void a_thread_without_its_policy_waits_as_an_ordinary_one(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    change(82, CAM, 0, BUSY)->priority = ORDINARY_PRIORITY;
    change(100, BUSY, 0, CAM)->next_priority = ORDINARY_PRIORITY;
    end_job(101);
    explain(110, NULL, 0);
    cause_is(CAUSE_ORDINARY, 18);
}

static void interrupts_take_time_of_a_job(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    event(81, RECORD_INTERRUPT);
    event(90, RECORD_INTERRUPT); /* an interrupt during an interrupt */
    event(91, RECORD_RESUME);
    event(101, RECORD_RESUME);
    end_job(103);
    explain(110, NULL, 0);
    cause_is(CAUSE_INTERRUPT, 20);
    assert_int_equal(late[0].ran, 3 * MS);
    assert_int_equal(late[0].times[CAUSE_OVERRUN], 0);
}

/* The kernel throttles the thread, because it counts the interrupts as time of the thread. */
static void a_throttle_that_follows_from_interrupts_is_due_to_them(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    event(81, RECORD_INTERRUPT);
    event(87, RECORD_RESUME);
    struct record *start = at(87, RECORD_THROTTLE);
    start->thread = CAM;
    start->timer = 7;
    start->expires = 100 * MS;
    change(87, CAM, 0, 0);
    at(100, RECORD_REPLENISH)->timer = 7;
    change(100, 0, 0, CAM);
    end_job(101);
    explain(110, NULL, 0);
    cause_is(CAUSE_INTERRUPT, 6);
    assert_int_equal(late[0].times[CAUSE_THROTTLED], 13 * MS);
}

static void a_tick_that_is_overdue_tells_of_the_host(void **state)
{
    (void)state;
    tick = 4 * MS;
    begin();
    begin_job(80);
    timer_interrupt(81);
    timer_interrupt(102);
    end_job(103);
    explain(110, NULL, 0);
    cause_is(CAUSE_HOST, 17);
}

static void a_job_of_several_causes_lists_them_by_size(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    event(81, RECORD_FAULT);
    change(81, CAM, IN_DISK, 0);
    wake(86, 0);
    change(86, 0, 0, CAM);
    call(87, SYS_futex);
    change(87, CAM, SLEEPING, 0);
    wake(102, 0x7fff);
    change(104, 0, 0, CAM);
    event(104, RECORD_RETURN);
    end_job(105);
    explain(110, NULL, 0);
    cause_is(CAUSE_LOCK, 15);
    assert_int_equal(late[0].order[1], CAUSE_FAULT);
    assert_int_equal(late[0].times[CAUSE_FAULT], 5 * MS);
    assert_int_equal(late[0].order[2], CAUSE_HOST);
}

static void what_each_job_needs_is_no_cause(void **state)
{
    (void)state;
    change(1, 0, 0, CAM);
    end_job(2);
    for (int job = 1; job < 6;
         job++) { /* each job reads for 10 ms; the last one waits for 9 more */
        const int wait = job == 5 ? 9 : 0;
        begin_job(20 * job);
        call(20 * job + 1, SYS_read);
        change(20 * job + 1, CAM, IN_DISK, 0);
        wake(20 * job + 11, OTHER);
        change(20 * job + 11, 0, 0, CAM);
        event(20 * job + 11, RECORD_RETURN);
        change(20 * job + 12, CAM, 0, OTHER);
        change(20 * job + 12 + wait, OTHER, 0, CAM);
        end_job(20 * job + 13 + wait);
    }
    explain(130, NULL, 0);
    cause_is(CAUSE_OTHERS, 9);
    assert_int_equal(late[0].times[CAUSE_CALL], 10 * MS);
}

/* The job waits for a lock, then for a page, and then loses the record by which the thread gets the
 * CPU. */
static void lock_fault_and_loss(int lock, int fault, int loss)
{
    const int page = 82 + lock, lost = page + fault;
    begin();
    begin_job(80);
    call(81, SYS_futex);
    change(81, CAM, SLEEPING, 0);
    wake(81 + lock, HOLDER);
    change(81 + lock, 0, 0, CAM);
    event(81 + lock, RECORD_RETURN);
    change(page, CAM, IN_DISK, 0);
    wake(lost, 0);
    change(lost, 0, 0, OTHER);
    change(lost + loss, CAM, 0, OTHER);
    change(lost + loss, OTHER, 0, CAM);
    end_job(lost + loss + 1);
    explain(130, NULL, 0);
    assert_int_equal(late_count, 1);
    assert_int_equal(late[0].times[CAUSE_LOCK], lock * MS);
    assert_int_equal(late[0].times[CAUSE_FAULT], fault * MS);
    assert_int_equal(late[0].times[CAUSE_NOT_KNOWN], loss * MS);
}

static void a_lost_event_that_could_not_change_the_largest_cause_leaves_it_known(void **state)
{
    (void)state;
    lock_fault_and_loss(15, 4, 8);
    assert_int_equal(late[0].order[0], CAUSE_LOCK);
}

static void a_lost_event_makes_the_cause_unknown_if_it_could_be_another(void **state)
{
    (void)state;
    lock_fault_and_loss(10, 6, 5);
    assert_int_equal(late[0].order[0], CAUSE_NOT_KNOWN);
    assert_int_equal(late[0].order[1], CAUSE_LOCK);
}

static void a_marked_job_begins_at_its_release_and_may_sleep(void **state)
{
    (void)state;
    struct job marked[] = {{70 * MS, 75 * MS, 20 * MS, false}, {76 * MS, 102 * MS, 10 * MS, false}};
    begin();
    begin_job(80);
    end_job(81);
    begin_job(100);
    end_job(103);
    explain(110, marked, 2);
    cause_is(CAUSE_SLEPT, 23);
    assert_int_equal(late[0].number, 2);
    assert_int_equal(late[0].ran, 3 * MS);
}

static void a_thread_that_never_pauses_has_a_job_between_two_sleeps(void **state)
{
    (void)state;
    change(1, 0, 0, CAM);
    call(2, SYS_read);
    change(2, CAM, SLEEPING, 0);
    wake(10, OTHER);
    change(35, 0, 0, CAM);
    event(35, RECORD_RETURN);
    call(36, SYS_read);
    change(36, CAM, SLEEPING, 0);
    explain(50, NULL, 0);
    cause_is(CAUSE_HOST, 25);
}

static void a_job_that_has_not_ended_goes_on(void **state)
{
    (void)state;
    begin();
    begin_job(80);
    explain(120, NULL, 0);
    cause_is(CAUSE_OVERRUN, 37);
    assert_true(late[0].job.goes_on);
    assert_int_equal(late[0].job.end, 120 * MS);
}

/* A user does not see when other users' threads get a CPU. So rtf-watch says in the record of the
 * user's own thread how many threads had the CPU before. */
static void a_user_is_told_who_had_the_cpu(void **state)
{
    (void)state;
    sees_all = false;
    begin();
    wake(80, 0);
    struct record *record = change(104, 0, 0, CAM);
    record->wait = WAIT_OTHERS;
    record->others = 3;
    event(104, RECORD_RETURN);
    end_job(105);
    explain(110, NULL, 0);
    cause_is(CAUSE_OTHERS, 24);
    assert_int_equal(late[0].longest[CAUSE_OTHERS].others, 3);
}

static void only_the_last_of_many_threads_that_had_a_cpu_are_remembered(void **state)
{
    (void)state;
    struct occupancy *occupancy = occupancy_new(1);
    assert_non_null(occupancy);
    for (int i = 0; i < 200; i++)
        occupancy_take(occupancy, change(i, 1000 + i, 0, 1001 + i));
    const struct record *last = change(200, 1200, 0, CAM);
    occupancy_take(occupancy, last);
    const struct occupancy_wait wait = occupancy_explain(occupancy, last, 0);
    assert_int_equal(wait.kind, WAIT_OTHERS);
    assert_in_range(wait.others, 60, 64);
    occupancy_free(occupancy);
    count = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_in_time_have_no_cause),
        TEST(a_job_that_runs_longer_than_its_runtime_is_late_for_that_also_while_it_is_throttled),
        TEST(a_job_within_its_runtime_that_is_throttled_is_late_for_the_throttle),
        TEST(a_thread_that_is_woken_while_it_is_throttled_waits_for_its_replenishment),
        TEST(a_lock_is_no_end_of_a_job_and_its_holder_is_the_one_who_wakes),
        TEST(a_condition_that_a_timer_ends_is_the_end_of_a_job),
        TEST(a_sleep_outside_of_a_system_call_is_a_page_fault),
        TEST(a_thread_that_sleeps_without_a_call_and_a_page_fault_is_stopped),
        TEST(a_sleep_in_another_system_call_has_its_number),
        TEST(a_signal_stops_a_job),
        TEST(threads_of_the_same_rank_are_counted_while_the_thread_waits),
        TEST(a_thread_of_a_lower_rank_and_an_idle_cpu_are_told_apart),
        TEST(a_thread_without_its_policy_waits_as_an_ordinary_one),
        TEST(interrupts_take_time_of_a_job),
        TEST(a_throttle_that_follows_from_interrupts_is_due_to_them),
        TEST(a_tick_that_is_overdue_tells_of_the_host),
        TEST(a_job_of_several_causes_lists_them_by_size),
        TEST(what_each_job_needs_is_no_cause),
        TEST(a_lost_event_that_could_not_change_the_largest_cause_leaves_it_known),
        TEST(a_lost_event_makes_the_cause_unknown_if_it_could_be_another),
        TEST(a_marked_job_begins_at_its_release_and_may_sleep),
        TEST(a_thread_that_never_pauses_has_a_job_between_two_sleeps),
        TEST(a_job_that_has_not_ended_goes_on),
        TEST(a_user_is_told_who_had_the_cpu),
        TEST(only_the_last_of_many_threads_that_had_a_cpu_are_remembered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
