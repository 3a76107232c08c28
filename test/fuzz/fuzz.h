/* The fuzzers share this. Each target gives one parser of the broker any bytes that a stranger may
 * send, and aborts on an impossible result: a value out of its range, a text that is not printable,
 * an answer to a question that was not asked. */
#ifndef RTF_FUZZ_H
#define RTF_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Makes a private file with these bytes, under the same path each time. */
const char *fuzz_file(const uint8_t *bytes, size_t length);

static inline void must(bool true_now)
{
    if (!true_now)
        abort();
}

/* Aborts unless the text ends within `size` and is printable. */
void must_be_text(const char *text, size_t size);

#endif
