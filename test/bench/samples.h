/* Times of one operation, and their statistics. */
#ifndef RTF_BENCH_SAMPLES_H
#define RTF_BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLES_MAX = 100000 };

/* The struct has no pointers, because processes share it. */
struct samples {
    uint32_t count;
    uint32_t failed; /* wrong answers, whose times do not count */
    uint32_t ns[SAMPLES_MAX];
};

/* In us. Spread: of the medians of ten consecutive parts, the largest less the smallest, in per
 * cent of p50. */
struct summary {
    double p50, p90, p99, max, spread;
    uint32_t count, failed;
};

int64_t now(void); /* CLOCK_MONOTONIC, ns */
struct samples *samples_shared(size_t how_many);
void samples_free(struct samples *samples, size_t how_many);
void samples_add(struct samples *samples, int64_t ns);
struct summary samples_summary(const struct samples *samples);

/* Shows the current measurement on a terminal; "" removes the text. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
