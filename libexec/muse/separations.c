#include "separations.h"

#include <stdlib.h>

/* One pass computes the times of windows (separations.h) of TOGETHER consecutive lengths k. This is
 * fast, because windows with the same first mark have last marks that are neighbours in memory. */
enum { TOGETHER = 4, LANES = 8 };

/* The code is in function bodies (..._body). For each kind of processor, the bodies are inlined
 * into other functions, so that the compiler vectorizes the code for this kind. */
#define SHARED_BODY static inline __attribute__((always_inline)) void

SHARED_BODY extremes_body(const int64_t *restrict marks, size_t windows, int64_t k,
                          int64_t *longest, int64_t *shortest)
{
    int64_t most = INT64_MIN, least = INT64_MAX;
    for (size_t j = 0; j < windows; j++) {
        int64_t separation = marks[j + (size_t)k] - marks[j];
        most = separation > most ? separation : most;
        least = separation < least ? separation : least;
    }
    *longest = most;
    *shortest = least;
}

SHARED_BODY extremes_together_body(const int64_t *restrict marks, size_t windows, int64_t k,
                                   int64_t *longest, int64_t *shortest)
{
    int64_t most0 = INT64_MIN, most1 = INT64_MIN, most2 = INT64_MIN, most3 = INT64_MIN;
    int64_t least0 = INT64_MAX, least1 = INT64_MAX, least2 = INT64_MAX, least3 = INT64_MAX;
    for (size_t j = 0; j < windows; j++) {
        const int64_t first = marks[j], *last = marks + j + k;
        int64_t s0 = last[0] - first, s1 = last[1] - first, s2 = last[2] - first,
                s3 = last[3] - first;
        most0 = s0 > most0 ? s0 : most0;
        most1 = s1 > most1 ? s1 : most1;
        most2 = s2 > most2 ? s2 : most2;
        most3 = s3 > most3 ? s3 : most3;
        least0 = s0 < least0 ? s0 : least0;
        least1 = s1 < least1 ? s1 : least1;
        least2 = s2 < least2 ? s2 : least2;
        least3 = s3 < least3 ? s3 : least3;
    }
    longest[0] = most0, longest[1] = most1, longest[2] = most2, longest[3] = most3;
    shortest[0] = least0, shortest[1] = least1, shortest[2] = least2, shortest[3] = least3;
}

/* A vector of sums, which are added in a fixed order. The compiler may not reorder floating-point
 * additions by itself, so the code states an order that is fast. */
typedef double lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

static inline __attribute__((always_inline)) double sum_lanes(const lanes *sums)
{
    double sum = 0;
    for (int lane = 0; lane < LANES; lane++)
        sum += (*sums)[lane];
    return sum;
}

/* Sums up squares for TOGETHER consecutive k. The sums are over the windows (separations.h) that
 * exist for all of these k. */
SHARED_BODY squares_body(const double *restrict rest, size_t windows, int64_t k, double *squares)
{
    lanes sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
    const double *last = rest + k;
    size_t j = 0;
    for (; j + LANES <= windows; j += LANES) {
        const lanes first = *(const lanes *)(rest + j);
        const lanes d0 = *(const lanes *)(last + j) - first,
                    d1 = *(const lanes *)(last + j + 1) - first;
        const lanes d2 = *(const lanes *)(last + j + 2) - first,
                    d3 = *(const lanes *)(last + j + 3) - first;
        sum0 += d0 * d0;
        sum1 += d1 * d1;
        sum2 += d2 * d2;
        sum3 += d3 * d3;
    }
    squares[0] = sum_lanes(&sum0), squares[1] = sum_lanes(&sum1), squares[2] = sum_lanes(&sum2),
    squares[3] = sum_lanes(&sum3);
    for (; j < windows; j++)
        for (size_t more = 0; more < TOGETHER; more++)
            squares[more] += (last[j + more] - rest[j]) * (last[j + more] - rest[j]);
}

#define FOR_PROCESSOR(suffix)                                                                      \
    TARGET_##suffix static void extremes_##suffix(const int64_t *marks, size_t windows, int64_t k, \
                                                  int64_t *longest, int64_t *shortest)             \
    {                                                                                              \
        extremes_body(marks, windows, k, longest, shortest);                                       \
    }                                                                                              \
    TARGET_##suffix static void together_##suffix(const int64_t *marks, size_t windows, int64_t k, \
                                                  int64_t *longest, int64_t *shortest)             \
    {                                                                                              \
        extremes_together_body(marks, windows, k, longest, shortest);                              \
    }                                                                                              \
    TARGET_##suffix static void squares_##suffix(const double *rest, size_t windows, int64_t k,    \
                                                 double *squares)                                  \
    {                                                                                              \
        squares_body(rest, windows, k, squares);                                                   \
    }

typedef void extremes_of(const int64_t *marks, size_t windows, int64_t k, int64_t *longest,
                         int64_t *shortest);
typedef void squares_of(const double *rest, size_t windows, int64_t k, double *squares);

struct kernels {
    extremes_of *one, *together;
    squares_of *squares;
};

#define TARGET_any
FOR_PROCESSOR(any)
#ifdef __x86_64__
#define TARGET_wide __attribute__((target("avx2,fma")))
#ifdef __clang__
#define TARGET_widest __attribute__((target("avx512f,avx512dq")))
#else
#define TARGET_widest __attribute__((target("avx512f,avx512dq,prefer-vector-width=512")))
#endif
FOR_PROCESSOR(wide)
FOR_PROCESSOR(widest)
#endif

static struct kernels choose_kernels(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return (struct kernels){extremes_widest, together_widest, squares_widest};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct kernels){extremes_wide, together_wide, squares_wide};
#endif
    return (struct kernels){extremes_any, together_any, squares_any};
}

static int64_t next_jobs(int64_t k, bool dense)
{
    return dense || k < SEPARATIONS_DENSE ? k + 1 : k + k / SEPARATIONS_DENSE;
}

/* Returns the number of entries for k from 0 to `most`. The last entry is always for `most`. */
static size_t count_entries(int64_t most, bool dense)
{
    size_t entries = 1;
    for (int64_t k = 0; k < most; k = next_jobs(k, dense))
        entries++;
    return entries;
}

static bool reserve(struct separations *separations, size_t entries, bool statistics)
{
    separations->jobs = calloc(entries, sizeof *separations->jobs);
    separations->longest = calloc(entries, sizeof *separations->longest);
    separations->shortest = calloc(entries, sizeof *separations->shortest);
    separations->mean = statistics ? calloc(entries, sizeof *separations->mean) : NULL;
    separations->variance = statistics ? calloc(entries, sizeof *separations->variance) : NULL;
    return separations->jobs != NULL && separations->longest != NULL &&
           separations->shortest != NULL &&
           (!statistics || (separations->mean != NULL && separations->variance != NULL));
}

static void list_jobs(struct separations *separations, int64_t most)
{
    int64_t k = 0;
    for (size_t i = 0; i < separations->count; i++, k = next_jobs(k, separations->dense))
        separations->jobs[i] = k < most ? k : most;
}

/* Returns the number of entries, from i on, that one pass can compute. */
static size_t group_at(const struct separations *s, size_t i)
{
    return i + TOGETHER <= s->count && s->jobs[i + TOGETHER - 1] == s->jobs[i] + TOGETHER - 1
               ? TOGETHER
               : 1;
}

static void fill_extremes(const int64_t *marks, size_t count, const struct kernels *kernels,
                          struct separations *s)
{
    size_t i = 1;
    while (i < s->count) {
        int64_t k = s->jobs[i];
        if (group_at(s, i) == TOGETHER) {
            int64_t longest[TOGETHER], shortest[TOGETHER];
            /* the number of windows that exist for all four k */
            size_t common = count - (size_t)k - (TOGETHER - 1);
            kernels->together(marks, common, k, longest, shortest);
            for (int64_t more = 0; more < TOGETHER; more++) {
                int64_t most = INT64_MIN, least = INT64_MAX;
                if (more < TOGETHER - 1)
                    kernels->one(marks + common, (size_t)(TOGETHER - 1 - more), k + more, &most,
                                 &least);
                s->longest[i] = most > longest[more] ? most : longest[more];
                s->shortest[i] = least < shortest[more] ? least : shortest[more];
                i++;
            }
        } else {
            kernels->one(marks, count - (size_t)k, k, &s->longest[i], &s->shortest[i]);
            i++;
        }
    }
}

/* Returns the marks minus the line through the first and the last mark. These values are near zero,
 * so that squares lose no precision. */
static double *make_rest(const int64_t *marks, size_t count, double step)
{
    double *rest = malloc(count * sizeof *rest);
    for (size_t j = 0; j < count && rest != NULL; j++)
        rest[j] = (double)(marks[j] - marks[0]) - step * (double)j;
    return rest;
}

/* Computes the mean by equation (20) of paper 004: the sum of all windows' last marks, minus the
 * sum of their first marks, divided by the number of windows. before[j]: the sum of the marks
 * before mark j. */
static double mean_rest(const double *before, size_t count, size_t k)
{
    return (before[count] - before[k] - before[count - k]) / (double)(count - k);
}

static double *make_sums(const double *rest, size_t count)
{
    double *before = malloc((count + 1) * sizeof *before);
    if (before == NULL)
        return NULL;
    before[0] = 0;
    for (size_t j = 0; j < count; j++)
        before[j + 1] = before[j] + rest[j];
    return before;
}

static double squares_from(const double *rest, size_t from, size_t windows, size_t k)
{
    double squares = 0;
    for (size_t j = from; j < windows; j++)
        squares += (rest[j + k] - rest[j]) * (rest[j + k] - rest[j]);
    return squares;
}

/* Computes the statistics of a group of k. If the group has only one k, the three k after it are
 * computed, too, and their results are not used. */
static void fill_group(const double *rest, const double *before, size_t count,
                       const struct kernels *kernels, size_t i, struct separations *s)
{
    const size_t group = group_at(s, i), least = count - (size_t)s->jobs[i],
                 common = least < TOGETHER ? 0 : least - (TOGETHER - 1);
    double squares[TOGETHER] = {0};
    if (common > 0)
        kernels->squares(rest, common, s->jobs[i], squares);
    for (size_t more = 0; more < group; more++) {
        const size_t k = (size_t)s->jobs[i + more], windows = count - k;
        double all = squares[more] + squares_from(rest, common, windows, k),
               mean = mean_rest(before, count, k);
        double variance = all / (double)windows - mean * mean;
        s->mean[i + more] = mean;
        s->variance[i + more] = variance > 0 ? variance : 0;
    }
}

static bool fill_moments(const int64_t *marks, size_t count, const struct kernels *kernels,
                         struct separations *s)
{
    const double step = count < 2 ? 0 : (double)(marks[count - 1] - marks[0]) / (double)(count - 1);
    double *rest = make_rest(marks, count, step),
           *before = rest == NULL ? NULL : make_sums(rest, count);
    for (size_t i = 1; before != NULL && i < s->count; i += group_at(s, i))
        fill_group(rest, before, count, kernels, i, s);
    for (size_t i = 1; before != NULL && i < s->count; i++)
        s->mean[i] += step * (double)s->jobs[i];
    free(before);
    free(rest);
    return before != NULL;
}

bool separations_compute(const int64_t *marks, size_t count, bool statistics, size_t dense_below,
                         struct separations *separations)
{
    const struct kernels kernels = choose_kernels();
    *separations = (struct separations){.dense = count < dense_below};
    if (count == 0)
        return true;
    size_t entries = count_entries((int64_t)count - 1, separations->dense);
    if (!reserve(separations, entries, statistics))
        return false;
    separations->count = entries;
    list_jobs(separations, (int64_t)count - 1);
    fill_extremes(marks, count, &kernels, separations);
    return !statistics || fill_moments(marks, count, &kernels, separations);
}

void separations_free(struct separations *separations)
{
    free(separations->jobs);
    free(separations->longest);
    free(separations->shortest);
    free(separations->mean);
    free(separations->variance);
    *separations = (struct separations){0};
}
