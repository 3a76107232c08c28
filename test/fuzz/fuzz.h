/* What the fuzzers share. Each target takes one parser of the broker with whatever a stranger may send it, and aborts when
 * what comes out cannot be: a value out of its range, a text that is not printable, a word that was not asked for. */
#ifndef RTF_FUZZ_H
#define RTF_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A file with these bytes, of ours and closed to others, under the same path each time. */
const char *fuzz_file(const uint8_t *bytes, size_t length);

static inline void must(bool true_now)
{
    if (!true_now)
        abort();
}

/* Ends within `size`, and can be printed. */
void must_be_text(const char *text, size_t size);

#endif
