#include "hyperbolic.h"

#include <gmp.h>

#include "units.h"

/* Computes one bit of the logarithm per step. Squaring x doubles its logarithm, and the whole part
 * of the doubled logarithm is the next bit. x is in [1, 2), has 62 fractional bits, and is rounded
 * up in each step, so the result is an upper bound. The error of step i is at most 2^-61, and
 * counts 2^-i times in the result. So the sum of all errors is below a thousandth of the last bit.
 * The last line rounds up by less than one bit. So LOG_ERROR is more than large enough. */
uint64_t log2_above(uint32_t billionths)
{
    if (billionths >= ONE_CPU)
        return LOG_ONE;
    const uint64_t one = UINT64_C(1) << 62;
    unsigned __int128 scaled = ((unsigned __int128)billionths << 62) + (ONE_CPU - 1);
    uint64_t x = one + (uint64_t)(scaled / ONE_CPU);
    uint64_t log = 0;
    for (int bit = 0; bit < 48; bit++) {
        unsigned __int128 square = (unsigned __int128)x * x + (one - 1);
        x = (uint64_t)(square >> 62);
        log <<= 1;
        if (x >= 2 * one) {
            x = x / 2 + x % 2;
            log |= 1;
        }
    }
    return log + (x > one);
}

/* Computes the product of a list. Multiplies each half of the list on its own, because GMP is fast
 * when both factors have similar sizes. */
static void multiply(mpz_t product, const uint32_t *billionths, size_t count)
{
    if (count <= 8) {
        mpz_set_ui(product, 1);
        for (size_t i = 0; i < count; i++)
            mpz_mul_ui(product, product, ONE_CPU + billionths[i]);
        return;
    }
    mpz_t rest;
    mpz_init(rest);
    multiply(product, billionths, count / 2);
    multiply(rest, billionths + count / 2, count - count / 2);
    mpz_mul(product, product, rest);
    mpz_clear(rest);
}

bool product_within_two(const uint32_t *billionths, size_t count)
{
    mpz_t product, bound;
    mpz_inits(product, bound, NULL);
    multiply(product, billionths, count);
    mpz_ui_pow_ui(bound, ONE_CPU, count);
    mpz_mul_ui(bound, bound, 2);
    bool within = mpz_cmp(product, bound) <= 0;
    mpz_clears(product, bound, NULL);
    return within;
}
