/* libexec/muse/phases.c and ring.h: the end of a job that watches the clock, and the memory that
 * writing a mark touches. */
#include "muse/phases.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "muse/ring.h"
#include "unit.h"

#define LOOK INT64_C(25) /* ns: the time that one look at the clock takes */
#define US   INT64_C(1000)

static struct {
    int64_t at, length;
} away[4]; /* the intervals without a look at the clock, in the order of time */
static int64_t time_is;

/* Replaces the C library's function. */
int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    (void)clock_id;
    time_is += LOOK;
    for (size_t i = 0; i < sizeof away / sizeof *away; i++)
        if (away[i].length > 0 && time_is >= away[i].at) {
            time_is += away[i].length;
            away[i].length = 0;
        }
    *tp = (struct timespec){.tv_sec = time_is / 1000000000, .tv_nsec = time_is % 1000000000};
    return 0;
}

static struct phase watching = {.name = "w", .kind = PHASE_WATCH, .duration = 100 * US},
                    computing = {.name = "c", .kind = PHASE_COMPUTE, .loops = 1};
static struct resources none;

static int64_t begin(int64_t duration)
{
    watching.duration = duration;
    time_is = 1000000 * US;
    for (size_t i = 0; i < sizeof away / sizeof *away; i++)
        away[i].length = 0;
    return time_is;
}

static void an_interrupt_across_the_end_is_the_next_jobs_time(void **state)
{
    struct step step = {.phase = &watching};
    const struct body body = {.steps = &step, .count = 1};
    const int64_t start = begin(100 * US);
    int64_t begun = start;
    (void)state;
    away[0].at = start + 70 * US, away[0].length = 60 * US;
    away[1].at = start + 299 * US, away[1].length = 99 * US;
    for (int job = 1; job <= 5; job++) {
        begun = body_run(&body, &none, begun);
        check(begun == start + job * (100 * US), "job %d ended %jd ns after the start", job,
              (intmax_t)(begun - start));
    }
}

static void an_interrupt_can_be_several_jobs_long(void **state)
{
    struct step step = {.phase = &watching};
    const struct body body = {.steps = &step, .count = 1};
    const int64_t start = begin(10 * US);
    int64_t begun = start;
    (void)state;
    away[0].at = start + 5 * US, away[0].length = 80 * US;
    for (int job = 1; job <= 20; job++) {
        begun = body_run(&body, &none, begun);
        check(begun == start + job * (10 * US), "job %d ended %jd ns after the start", job,
              (intmax_t)(begun - start));
    }
}

static void who_was_away_had_nothing(void **state)
{
    struct step step = {.phase = &watching};
    const struct body body = {.steps = &step, .count = 1};
    const int64_t start = begin(100 * US);
    (void)state;
    away[0].at = start + 50 * US, away[0].length = 3000 * US;
    int64_t begun = body_run(&body, &none, start);
    check(begun == start + 3100 * US + LOOK, "it ended %jd ns after the start",
          (intmax_t)(begun - start));
}

static void marking_is_the_jobs_time(void **state)
{
    struct step step = {.phase = &watching};
    const struct body body = {.steps = &step, .count = 1};
    const int64_t start = begin(100 * US);
    int64_t begun = body_run(&body, &none, start);
    (void)state;
    time_is += 7 * US;
    begun = body_run(&body, &none, begun);
    check(begun == start + 200 * US, "it ended %jd ns after the start", (intmax_t)(begun - start));
}

/* A computing phase cannot distinguish its own work from work before its beginning. */
static void other_work_ends_when_it_is_seen(void **state)
{
    struct step steps[] = {{.phase = &watching}, {.phase = &computing}, {.phase = &watching}};
    const struct body first = {.steps = steps, .count = 2}, last = {.steps = steps, .count = 3};
    const int64_t start = begin(100 * US);
    (void)state;
    assert_int_equal(body_run(&first, &none, start), 0);
    begin(100 * US);
    away[0].at = start + 70 * US, away[0].length = 60 * US;
    const int64_t ended = body_run(&last, &none, start);
    check(ended > start + 230 * US && ended < start + 231 * US, "it ended %jd ns after the start",
          (intmax_t)(ended - start));
}

static long faults(void)
{
    struct rusage use;
    getrusage(RUSAGE_THREAD, &use);
    return use.ru_minflt;
}

static void no_mark_touches_a_page_first(void **state)
{
    struct ring *ring =
        mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(ring != MAP_FAILED);
    (void)faults();
    ring_touch(ring);
    const long before = faults();
    for (uint32_t i = 0; i < RING_MARKS; i++)
        assert_true(ring_put(ring, (struct mark){i, i, 0, 0}));
    const long after = faults();
    check(after - before < 4, "%ld pages of %zu", after - before, sizeof *ring / 4096);
    munmap(ring, sizeof *ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupt_across_the_end_is_the_next_jobs_time),
        cmocka_unit_test(an_interrupt_can_be_several_jobs_long),
        cmocka_unit_test(who_was_away_had_nothing),
        cmocka_unit_test(marking_is_the_jobs_time),
        cmocka_unit_test(other_work_ends_when_it_is_seen),
        cmocka_unit_test(no_mark_touches_a_page_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
