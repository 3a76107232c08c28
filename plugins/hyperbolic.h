/* The arithmetic of the hyperbolic bound, prod(1 + U_i) <= 2 (Bini and Buttazzo), without floating point.
 *
 * Kept as a sum of logarithms it costs one addition a task, and what is added is exactly taken back; only
 * when that sum is too close to the bound to tell is the product itself worked out. */
#ifndef RTF_HYPERBOLIC_H
#define RTF_HYPERBOLIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_ONE (UINT64_C(1) << 48) /* log2(2) */

/* log2_above is never below the logarithm, and less than this many units of 2^-48 above it. */
enum { LOG_ERROR = 2 };

/* log2(1 + U) in units of 2^-48, rounded up; U in billionths, at most ONE_CPU. */
uint64_t log2_above(uint32_t billionths);

/* Exactly: prod(1 + U_i) <= 2. count > 0. */
bool product_within_two(const uint32_t *billionths, size_t count);

#endif
