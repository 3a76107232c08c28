/* The hyperbolic bound, prod(1 + U_i) <= 2 (Bini and Buttazzo), without floating point.
 *
 * The test compares a sum of logarithms with log2(2). A new task needs one addition, and the end of
 * a task needs one subtraction, which restores the sum exactly. The product itself is computed only
 * if the sum is too close to the bound. */
#ifndef RTF_HYPERBOLIC_H
#define RTF_HYPERBOLIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_ONE (UINT64_C(1) << 48) /* log2(2) */

/* 0 <= log2_above(U) - log2(1 + U) < LOG_ERROR, in units of 2^-48. */
enum { LOG_ERROR = 2 };

/* Returns log2(1 + U) in units of 2^-48, rounded up; U in billionths, at most ONE_CPU. */
uint64_t log2_above(uint32_t billionths);

/* True if prod(1 + U_i) <= 2, computed exactly. count > 0. */
bool product_within_two(const uint32_t *billionths, size_t count);

#endif
