/* Times of one operation, and what is said of them. */
#ifndef RTF_BENCH_SAMPLES_H
#define RTF_BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLES_MAX = 100000 };

/* To be shared between processes: nothing in it points anywhere. */
struct samples {
    uint32_t count;
    uint32_t failed;         /* not answered as it should be; not among the times */
    uint32_t ns[SAMPLES_MAX];
};

/* In us. Spread: of the medians of ten consecutive parts, the largest less the smallest, in per cent of p50. */
struct summary {
    double p50, p90, p99, max, spread;
    uint32_t count, failed;
};

int64_t now(void); /* CLOCK_MONOTONIC, ns */
struct samples *samples_shared(size_t how_many);
void samples_free(struct samples *samples, size_t how_many);
void samples_add(struct samples *samples, int64_t ns);
struct summary samples_summary(const struct samples *samples);

/* What is being measured, to a terminal; "": gone. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
