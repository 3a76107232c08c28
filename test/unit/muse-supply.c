/* libexec/muse/supply.c and separations.c: compared with closed formulas, and with brute force over
 * random logs. */
#include "muse/supply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define SECOND 1e9
#define NEAR   1e-9 /* in s, or as a ratio */

enum { MARKS_MOST = 40000 };

static int64_t marks[MARKS_MOST];
static size_t count;

static struct separations separations;
static struct supply supply;

static void compute(int64_t nominal, int rate)
{
    assert_true(separations_compute(marks, count, true, SEPARATIONS_EXACT, &separations));
    assert_true(supply_compute(&separations, nominal > 0 ? nominal : separations.shortest[1], rate,
                               &supply));
}

static void forget(void)
{
    supply_free(&supply);
    separations_free(&separations);
}

static void near(double value, double wanted, const char *what)
{
    check(fabs(value - wanted) <= NEAR, "%s: %.12f instead of %.12f", what, value, wanted);
}

/* The log of a server that gives `budget` at the start of each period, from `phase` on, to a thread
 * whose jobs take `job`. With `late`, a job that could begin at the end of one budget begins in the
 * next. The thread starts at 0. */
static void serve(int64_t budget, int64_t period, int64_t phase, int64_t job, bool late,
                  size_t jobs)
{
    int64_t now = 0;
    for (count = 0; count < jobs; count++) {
        int64_t into = ((now - phase) % period + period) % period;
        if (into > budget || (late && into == budget))
            now += period - into;
        marks[count] = now;
        for (int64_t left = job; left > 0;) {
            into = ((now - phase) % period + period) % period;
            int64_t room = into < budget ? budget - into : 0, step = left < room ? left : room;
            now += step;
            left -= step;
            if (left > 0)
                now += period - (into + step);
        }
    }
}

static void a_static_server_gives_its_share_after_its_gap(void **state)
{
    static const struct {
        int64_t budget, period, job;
    } servers[] = {{5 * MS, 20 * MS, MS},
                   {10 * MS, 20 * MS, MS / 2},
                   {3 * MS, 7 * MS, MS / 4},
                   {MS, 100 * MS, MS / 10},
                   {9 * MS, 10 * MS, 3 * MS}};
    (void)state;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        for (int64_t phase = 0; phase < servers[i].period; phase += servers[i].period / 3 + 1)
            for (int late = 0; late < 2; late++) {
                const double gap = (double)(servers[i].period - servers[i].budget);
                const int64_t aligned = phase / servers[i].job * servers[i].job;
                serve(servers[i].budget, servers[i].period, aligned, servers[i].job, late != 0,
                      3000);
                compute(servers[i].job, 1);
                struct linear lower = supply_lower_bound(&supply, 50 * (double)servers[i].period),
                              upper = supply_upper_bound(&supply, 50 * (double)servers[i].period);
                struct joint joint = supply_joint_bound(&supply);
                const double share = (double)servers[i].budget / (double)servers[i].period;
                near(lower.alpha, share, "lower alpha");
                near(lower.delta / SECOND, gap / SECOND, "lower delta");
                near(upper.alpha, share, "upper alpha");
                /* The line through the end of a budget has alpha * (Q - delta) = Q. The marks at
                 * both ends of a gap show only that less than one more job was done until the next
                 * mark, so the line goes through (Q + job, Q + job). A mark at the beginning of a
                 * gap exists only if the thread begins with the gap. */
                const bool both =
                    late == 0 && marks[0] % servers[i].period == aligned % servers[i].period;
                const double ahead = -gap *
                                     (double)(servers[i].budget + (both ? servers[i].job : 0)) /
                                     (double)servers[i].budget;
                near(upper.delta / SECOND, ahead / SECOND, "upper delta");
                near(joint.alpha, share, "joint alpha");
                near(joint.delta_lower / SECOND, gap / SECOND, "joint lower delta");
                near(joint.delta_upper / SECOND, ahead / SECOND, "joint upper delta");
                near((double)supply_blackout(&supply) / SECOND, gap / SECOND, "blackout");
                forget();
            }
}

/* The server gives Q at once, and from time to time it gives Q as late as possible. This is the
 * least supply of a server that keeps its promise. */
static void a_server_that_does_its_worst_has_the_delay_of_theory(void **state)
{
    const int64_t budget = 5 * MS, period = 20 * MS, job = MS;
    (void)state;
    count = 0;
    for (int64_t p = 0; p < 400; p++) {
        int64_t start = p * period + (p % 40 >= 20 ? period - budget : 0);
        for (int64_t done = 0; done < budget; done += job)
            marks[count++] = start + done;
    }
    compute(job, 1);
    struct linear lower = supply_lower_bound(&supply, 10 * (double)period);
    near(lower.alpha, 0.25, "alpha");
    near(lower.delta / SECOND, 2 * (double)(period - budget) / SECOND, "delta");
    forget();
}

static void a_dedicated_cpu_gives_all(void **state)
{
    (void)state;
    for (count = 2; count <= 2000; count = count * 10 + 1) {
        for (size_t j = 0; j < count; j++)
            marks[j] = 12345 + (int64_t)j * 2777777;
        compute(0, 1);
        struct linear lower = supply_lower_bound(&supply, SECOND),
                      upper = supply_upper_bound(&supply, SECOND);
        struct joint joint = supply_joint_bound(&supply);
        near(lower.alpha, 1, "lower alpha");
        near(lower.delta / SECOND, 0, "lower delta");
        near(upper.alpha, 1, "upper alpha");
        near(upper.delta / SECOND, 0, "upper delta");
        near(joint.alpha, 1, "joint alpha");
        assert_true(supply_blackout(&supply) == 0);
        assert_true(separations.variance[1] == 0 && fabs(separations.mean[1] - 2777777) < 1e-6);
        forget();
    }
}

static int by_time(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void two_cpus_give_twice_as_much(void **state)
{
    (void)state;
    count = 0;
    for (int64_t j = 0; j < 500; j++) {
        marks[count++] = j * 4 * MS;
        marks[count++] = j * 4 * MS + 2 * MS;
    }
    qsort(marks, count, sizeof *marks, by_time);
    compute(4 * MS, 2);
    struct linear lower = supply_lower_bound(&supply, SECOND),
                  upper = supply_upper_bound(&supply, SECOND);
    near(lower.alpha, 2, "lower alpha");
    near(lower.delta / SECOND, 0, "lower delta");
    near(upper.alpha, 2, "upper alpha");
    near(upper.delta / SECOND, 0, "upper delta");
    forget();
}

static void after_a_gap_that_is_longer_than_the_horizon_nothing_is_sure(void **state)
{
    (void)state;
    for (count = 0; count < 1000; count++)
        marks[count] = (int64_t)count * MS + (count >= 500 ? 2000 * MS : 0);
    compute(0, 1);
    struct linear lower = supply_lower_bound(&supply, SECOND);
    near(lower.alpha, 0, "alpha");
    near(lower.delta / SECOND, 2, "delta");
    near((double)supply_blackout(&supply) / SECOND, 2, "blackout");
    near(supply_upper_bound(&supply, SECOND).alpha, 1, "upper alpha");
    forget();
}

/* ---- random logs ---- */

static void log_at_random(size_t most, int threads)
{
    int64_t now[8] = {0};
    count = 2 + (size_t)random_below(most);
    for (size_t j = 0; j < count; j++) {
        size_t thread = (size_t)random_below((uint64_t)threads);
        now[thread] += (int64_t)random_within(1000, 1100) +
                       (random_below(8) == 0 ? (int64_t)random_below(20000) : 0);
        marks[j] = now[thread];
    }
    qsort(marks, count, sizeof *marks, by_time);
}

/* Formulas (15) and (16) of paper 004 as they are written, at this time (ns * m), but without
 * formula (5): supply that several threads seem to have got above the full rate does not count. */
static int64_t subf(int64_t time, int64_t nominal, int rate)
{
    int64_t least = time;
    for (size_t i = 0; i < separations.count; i++) {
        int64_t work = separations.jobs[i] * nominal, at = separations.shortest[i] * rate;
        int64_t value = time < at ? work : work + time - at;
        least = value < least ? value : least;
    }
    return least;
}

static int64_t slbf(int64_t time, int64_t nominal, int rate)
{
    int64_t most = 0;
    for (size_t i = 0; i < separations.count; i++) {
        int64_t work = separations.jobs[i] * nominal, at = separations.longest[i] * rate;
        int64_t value = time <= at ? work + time - at : work;
        most = value > most ? value : most;
    }
    return most;
}

static int64_t between(const struct points *turns, int64_t time)
{
    for (size_t i = 1; i < turns->count; i++) {
        const struct point *from = &turns->at[i - 1], *to = &turns->at[i];
        if (time <= to->time)
            return to->work == from->work ? to->work : to->work - (to->time - time);
    }
    return turns->at[turns->count - 1].work;
}

static void each_function_is_what_its_equation_says(void **state)
{
    (void)state;
    random_from(4);
    for (int round = 0; round < ROUNDS(200); round++) {
        struct points lower = {0}, upper = {0};
        const int rate = 1 + (int)random_below(3);
        log_at_random(60, rate);
        compute(1000, rate);
        assert_true(supply_lower_turns(&supply, &lower) && supply_upper_turns(&supply, &upper));
        if (lower.at == NULL || upper.at == NULL)
            return;
        int64_t end = lower.at[lower.count - 1].time, end_upper = upper.at[upper.count - 1].time,
                before_lower = 0, before_upper = 0;
        for (int64_t time = 0; time < end; time += end / 97 + 1) {
            int64_t low = between(&lower, time), high = between(&upper, time);
            check(rate > 1 ? low <= slbf(time, 1000, rate) : low == slbf(time, 1000, rate),
                  "slbf(%lld) is %lld", (long long)time, (long long)low);
            check(time > end_upper || high == subf(time, 1000, rate), "subf(%lld) is %lld",
                  (long long)time, (long long)high);
            check(time > end_upper || low <= high, "at %lld: %lld > %lld", (long long)time,
                  (long long)low, (long long)high);
            check(low >= before_lower && low - before_lower <= end / 97 + 1,
                  "falls, or rises too fast");
            check(time > end_upper || (high >= before_upper && high - before_upper <= end / 97 + 1),
                  "falls, or rises too fast");
            before_lower = low;
            before_upper = high;
        }
        points_free(&lower);
        points_free(&upper);
        forget();
    }
}

/* How far a line is from the corners of a function. It is at most 0, and 0 at some corner, if the
 * line touches the function from its own side. */
static double worst(const struct points *turns, double alpha, double delta, int rate, int side)
{
    double most = -HUGE_VAL;
    for (size_t i = 0; i < turns->count; i++) {
        double over =
            side * (alpha * ((double)turns->at[i].time / rate - delta) - (double)turns->at[i].work);
        most = over > most ? over : most;
    }
    return most;
}

struct best {
    double area, distance;
};

/* Takes the line through corners i and j. If the line stays on its side of all corners, and the
 * area under it is better than *best, the function sets best->area. */
static void try_line(const struct points *turns, size_t i, size_t j, double horizon, int side,
                     struct best *best)
{
    double run = (double)(turns->at[j].time - turns->at[i].time) / supply.rate,
           rise = (double)(turns->at[j].work - turns->at[i].work);
    if (run <= 0 || rise <= 0)
        return;
    double alpha = rise / run,
           delta = (double)turns->at[i].time / supply.rate - (double)turns->at[i].work / alpha;
    if (worst(turns, alpha, delta, supply.rate, side) > 1e-3)
        return;
    double area = side > 0
                      ? (delta < horizon ? alpha * (horizon - delta) * (horizon - delta) / 2 : 0)
                      : alpha * horizon * (horizon / 2 - delta);
    if (side > 0 ? area > best->area : area < best->area)
        best->area = area;
}

static void brute_force(const struct points *turns, double horizon, int side, struct best *best)
{
    best->area = side > 0 ? 0 : HUGE_VAL;
    for (size_t i = 0; i < turns->count; i++)
        for (size_t j = i + 1; j < turns->count; j++)
            try_line(turns, i, j, horizon, side, best);
}

static double distance_of(const struct points *lower, const struct points *upper, double alpha)
{
    double low = worst(lower, alpha, 0, supply.rate, 1),
           high = worst(upper, alpha, 0, supply.rate, -1);
    return (low + high) / sqrt(1 + alpha * alpha);
}

static void check_linear(const struct points *turns, struct linear bound, double horizon, int side)
{
    struct best best;
    brute_force(turns, horizon, side, &best);
    double over = worst(turns, bound.alpha, bound.delta, supply.rate, side);
    double area = side > 0 ? bound.alpha * (horizon - bound.delta) * (horizon - bound.delta) / 2
                           : bound.alpha * horizon * (horizon / 2 - bound.delta);
    if (side > 0 && bound.alpha == 0)
        area = 0;
    check(fabs(over) < 1e-3, "the line of slope %g is %g beyond the function", bound.alpha, over);
    check(fabs(area - best.area) <= 1e-6 * fabs(best.area) + 1e-3, "area %.9g, the best is %.9g",
          area, best.area);
}

/* The least slope of the edges that rise. If there are few marks, a level pair of lines can be
 * nearer, but says nothing. */
static double least_slope(const struct points *hull)
{
    double least = HUGE_VAL;
    for (size_t i = 1; i < hull->count; i++) {
        double slope = (double)(hull->at[i].work - hull->at[i - 1].work) /
                       (double)(hull->at[i].time - hull->at[i - 1].time) * supply.rate;
        least = slope > 0 && slope < least ? slope : least;
    }
    return least;
}

static void each_linear_bound_is_the_best(void **state)
{
    (void)state;
    random_from(7);
    for (int round = 0; round < ROUNDS(150); round++) {
        struct points lower = {0}, upper = {0};
        const int rate = 1 + (int)random_below(2);
        log_at_random(40, rate);
        compute(1000, rate);
        assert_true(supply_lower_turns(&supply, &lower) && supply_upper_turns(&supply, &upper));
        if (lower.at == NULL || upper.at == NULL)
            return;
        double measured = (double)(lower.at[lower.count - 1].time) / rate,
               horizon = measured / (double)(1 + random_below(6));
        double upper_end = (double)upper.at[upper.count - 1].time / rate;
        check_linear(&lower, supply_lower_bound(&supply, horizon), horizon, 1);
        check_linear(&upper, supply_upper_bound(&supply, horizon),
                     horizon < upper_end ? horizon : upper_end, -1);
        struct joint joint = supply_joint_bound(&supply);
        double distance = distance_of(&lower, &upper, joint.alpha);
        const double least = least_slope(&supply.lower.hull) < least_slope(&supply.upper.hull)
                                 ? least_slope(&supply.lower.hull)
                                 : least_slope(&supply.upper.hull);
        for (int step = 0; step <= 500; step++) {
            const double alpha = least + (rate - least) * step / 500;
            check(distance_of(&lower, &upper, alpha) >= distance - 1e-6 * distance,
                  "alpha %g is better than %g", alpha, joint.alpha);
        }
        check(fabs(worst(&lower, joint.alpha, joint.delta_lower, rate, 1)) < 1e-3,
              "the joint line is not at the lower function");
        check(fabs(worst(&upper, joint.alpha, joint.delta_upper, rate, -1)) < 1e-3,
              "the joint line is not at the upper function");
        points_free(&lower);
        points_free(&upper);
        forget();
    }
}

/* Tries each k. */
static void separations_are_those_of_all_windows(void **state)
{
    (void)state;
    random_from(9);
    for (int round = 0; round < ROUNDS(60); round++) {
        log_at_random(round < 30 ? 12 : 150, 1);
        compute(1000, 1);
        assert_true(separations.count == count && separations.dense);
        for (size_t k = 1; k < count; k++) {
            int64_t longest = INT64_MIN, shortest = INT64_MAX;
            long double sum = 0, squares = 0;
            for (size_t j = 0; j + k < count; j++) {
                int64_t separation = marks[j + k] - marks[j];
                longest = separation > longest ? separation : longest;
                shortest = separation < shortest ? separation : shortest;
                sum += (long double)separation;
            }
            for (size_t j = 0; j + k < count; j++)
                squares +=
                    ((long double)(marks[j + k] - marks[j]) - sum / (long double)(count - k)) *
                    ((long double)(marks[j + k] - marks[j]) - sum / (long double)(count - k));
            assert_true(separations.longest[k] == longest && separations.shortest[k] == shortest);
            near(separations.mean[k] / SECOND, (double)(sum / (long double)(count - k)) / SECOND,
                 "mean");
            check(fabs(separations.variance[k] - (double)(squares / (long double)(count - k))) <=
                      1e-6 * separations.variance[k] + 1e-3,
                  "variance of %zu jobs", k);
        }
        forget();
    }
}

/* Without some intervals the bounds are only safer, and differ by no more than was promised. */
static void few_k_give_bounds_on_the_safe_side(void **state)
{
    (void)state;
    random_from(11);
    log_at_random(1, 1);
    for (count = 0; count < MARKS_MOST; count++)
        marks[count] = (count == 0 ? 0 : marks[count - 1]) + (int64_t)random_within(1000, 1100) +
                       (random_below(8) == 0 ? (int64_t)random_below(20000) : 0);
    compute(1000, 1);
    struct separations few;
    struct supply safe;
    assert_true(separations_compute(marks, count, true, 1000, &few));
    assert_true(!few.dense && few.count < separations.count / 2);
    assert_true(few.jobs[few.count - 1] == (int64_t)count - 1);
    for (size_t i = 0; i < few.count; i++) {
        size_t k = (size_t)few.jobs[i];
        assert_true(few.longest[i] == separations.longest[k] &&
                    few.shortest[i] == separations.shortest[k]);
        assert_true(fabs(few.variance[i] - separations.variance[k]) <=
                    1e-9 * separations.variance[k]);
        assert_true(i == 0 ||
                    few.jobs[i] - few.jobs[i - 1] <= 1 + few.jobs[i - 1] / SEPARATIONS_DENSE);
    }
    assert_true(supply_compute(&few, 1000, 1, &safe));
    struct linear all = supply_lower_bound(&supply, 1e6), safer = supply_lower_bound(&safe, 1e6);
    check(safer.alpha <= all.alpha + NEAR || safer.delta >= all.delta, "less sure than all k");
    check(fabs(safer.alpha - all.alpha) < all.alpha / 1000, "%g instead of %g", safer.alpha,
          all.alpha);
    supply_free(&safe);
    separations_free(&few);
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_static_server_gives_its_share_after_its_gap),
        cmocka_unit_test(a_server_that_does_its_worst_has_the_delay_of_theory),
        cmocka_unit_test(a_dedicated_cpu_gives_all),
        cmocka_unit_test(two_cpus_give_twice_as_much),
        cmocka_unit_test(after_a_gap_that_is_longer_than_the_horizon_nothing_is_sure),
        cmocka_unit_test(each_function_is_what_its_equation_says),
        cmocka_unit_test(each_linear_bound_is_the_best),
        cmocka_unit_test(separations_are_those_of_all_windows),
        cmocka_unit_test(few_k_give_bounds_on_the_safe_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
