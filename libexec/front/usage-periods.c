#include "usage-periods.h"

#include <stdlib.h>

/* ---- the CPU time used in each period ---- */

static void keep(struct periods *periods, uint64_t used)
{
    if (periods->count >= periods->size && periods->size < PERIODS_KEPT) {
        periods->size = periods->size == 0 ? 1024 : 2 * periods->size;
        periods->kept = reallocarray(periods->kept, periods->size, sizeof *periods->kept);
        if (periods->kept == NULL)
            abort();
    }
    periods->kept[periods->count % PERIODS_KEPT] = used;
}

static void add(struct periods *periods, uint64_t used)
{
    keep(periods, used);
    if (periods->count == 0 || used < periods->least)
        periods->least = used;
    if (used > periods->most)
        periods->most = used;
    periods->count++;
}

static uint64_t in_periods(const struct periods *periods, uint64_t time)
{
    return (time + periods->period / 2) / periods->period;
}

/* ---- the periods of the kernel ---- */

/* Returns the CPU time that the thread had used when its present period began. The kernel may have
 * written `left` some microseconds after `ran`, while the thread ran. Then the result is too small,
 * and it is never too large. */
static int64_t beginning(const struct periods *periods, const struct look *look)
{
    return (int64_t)look->ran - ((int64_t)periods->runtime - look->left);
}

static uint64_t inexact(const struct periods *periods)
{
    static const uint64_t most = 20000;
    return periods->runtime / 50 < most ? periods->runtime / 50 : most;
}

/* The kernel gives as many runtimes at once as it needs to make up for an overrun. Returns the
 * number of periods that the thread skips because of this. */
static uint64_t skipped(const struct periods *periods, int64_t charged)
{
    const uint64_t seen = periods->over / periods->runtime,
                   given = charged <= 0
                               ? 0
                               : ((uint64_t)charged + periods->runtime / 2) / periods->runtime;
    return given > seen + 1 ? given - 1 : seen;
}

/* True if the thread was woken at most once since the last look, and did not use up a runtime. Then
 * the thread slept until its present period began, no matter how long this took. */
static bool was_woken_once(const struct periods *periods, const struct look *look)
{
    const uint64_t slept = look->slept - periods->last.slept;
    return (slept == 0 || (slept == 1 && look->has_left)) && periods->last.left > 0 &&
           look->ran - periods->last.ran < periods->runtime;
}

/* True if the look is in the period that follows the period of the last look. Two periods begin at
 * least the length of a period apart. */
static bool is_next(const struct periods *periods, const struct look *look)
{
    const uint64_t until = (1 + periods->over / periods->runtime) * periods->period;
    return look->at - periods->last.at < (int64_t)periods->period ||
           look->deadline - periods->last.deadline < until + periods->period / 2 ||
           was_woken_once(periods, look);
}

/* Counts a period whose runtime is used up. If the period before used up its runtime, too, and
 * the thread has not slept since, the thread is still in the same job, and this is no second
 * overrun. */
static void count_used_up(struct periods *periods)
{
    periods->saturated++;
    periods->throttles++;
    periods->overruns += !periods->was_used_up || periods->last.slept != periods->slept_before;
    periods->is_throttled = true;
    periods->waited_before = periods->last.waited;
}

static void lose_period(struct periods *periods, const struct look *look)
{
    periods->lost += look->deadline < periods->last.deadline
                         ? 1 /* the thread has been attached again */
                         : in_periods(periods, look->deadline - periods->last.deadline);
    periods->over = 0;
}

static void close_period(struct periods *periods, const struct look *look)
{
    const int64_t charged = beginning(periods, look) - periods->began;
    const uint64_t repaid = skipped(periods, charged) * periods->runtime;
    if (periods->over < repaid)
        periods->over = repaid;
    periods->over -= repaid;
    const int64_t used = charged + (int64_t)periods->over - (int64_t)periods->carried;
    add(periods, used < 0 ? 0 : (uint64_t)used);
    periods->is_used_up |= charged + (int64_t)inexact(periods) >= (int64_t)periods->runtime;
    if (periods->is_used_up)
        count_used_up(periods);
    periods->was_used_up = periods->is_used_up;
    periods->slept_before = periods->last.slept;
}

static void open_period(struct periods *periods, const struct look *look)
{
    periods->began = beginning(periods, look);
    periods->carried = periods->over;
    periods->over = 0;
    periods->is_used_up = false;
}

static void look_into_period(struct periods *periods, const struct look *look)
{
    if (beginning(periods, look) > periods->began)
        periods->began = beginning(periods, look);
    if (look->left > 0)
        return;
    periods->is_used_up = true;
    periods->over = (uint64_t)-look->left;
}

static void take_kernels(struct periods *periods, const struct look *look)
{
    if (periods->is_kernels && look->deadline != periods->last.deadline) {
        if (is_next(periods, look))
            close_period(periods, look);
        else
            lose_period(periods, look);
    }
    if (!periods->is_kernels) {
        periods->over = 0;
        periods->was_used_up = false;
    }
    if (!periods->is_kernels || look->deadline != periods->last.deadline)
        open_period(periods, look);
    look_into_period(periods, look);
    periods->is_kernels = periods->knows_kernel = true;
}

/* ---- windows ---- */

/* Counts lost time in whole periods. Keeps the rest for the next call, so that no time is missing
 * in the sum. */
static void lose_time(struct periods *periods, uint64_t length)
{
    periods->rest += length;
    periods->lost += periods->rest / periods->period;
    periods->rest %= periods->period;
}

/* Counts the window if its length differs from the period by a twentieth of the period at most. A
 * longer window is lost. */
static void take_window(struct periods *periods, const struct look *look)
{
    const uint64_t length = (uint64_t)(look->at - periods->window.at), slack = periods->period / 20,
                   used = look->ran - periods->window.ran;
    periods->was_stopped |= look->is_ordinary;
    if (length + slack < periods->period)
        return;
    if (length > periods->period + slack)
        lose_time(periods, length);
    else {
        add(periods, used);
        periods->saturated += periods->runtime > 0 && used >= periods->runtime;
        periods->throttles += periods->runtime > 0 && periods->was_stopped;
    }
    periods->window = *look;
    periods->was_stopped = false;
}

/* ---- periods and windows together ---- */

/* Adds the time of a throttle. The kernel counts it as waiting, and adds it to `waited` only when
 * the thread gets a CPU again. */
static void end_throttle(struct periods *periods, const struct look *look)
{
    if (!periods->is_throttled || look->waited == periods->waited_before)
        return;
    periods->throttled += look->waited - periods->waited_before;
    periods->is_throttled = false;
}

/* True if the look tells about the kernel's period. False, for example, for a thread that has
 * another runtime than granted. */
static bool tells_periods(const struct periods *periods, const struct look *look)
{
    return look->deadline != 0 && periods->runtime > 0 && !periods->is_constrained &&
           look->left <= (int64_t)periods->runtime;
}

void periods_begin(struct periods *periods, uint64_t runtime, uint64_t period, bool is_constrained,
                   const struct look *look)
{
    *periods = (struct periods){.runtime = runtime,
                                .period = period,
                                .is_constrained = is_constrained,
                                .first = *look,
                                .last = *look,
                                .window = *look};
    if (tells_periods(periods, look))
        take_kernels(periods, look);
}

void periods_take(struct periods *periods, const struct look *look)
{
    if (tells_periods(periods, look)) {
        take_kernels(periods, look);
        periods->window = *look;
    } else {
        periods->is_kernels = false;
        take_window(periods, look);
    }
    end_throttle(periods, look);
    periods->last = *look;
}

uint64_t periods_mean(const struct periods *periods)
{
    const uint64_t elapsed = (uint64_t)(periods->last.at - periods->first.at),
                   used = periods->last.ran - periods->first.ran;
    return elapsed == 0 ? 0 : (uint64_t)((double)used * (double)periods->period / (double)elapsed);
}

static int compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b ? 1 : 0;
}

uint64_t periods_99(struct periods *periods)
{
    const size_t kept = periods->count < PERIODS_KEPT ? (size_t)periods->count : PERIODS_KEPT;
    if (kept == 0)
        return 0;
    qsort(periods->kept, kept, sizeof *periods->kept, compare);
    return periods->kept[(kept - 1) * 99 / 100];
}

void periods_end(struct periods *periods)
{
    free(periods->kept);
    periods->kept = NULL;
}
