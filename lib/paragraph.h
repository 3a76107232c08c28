/* The message format between the broker, its plugins and its helpers.
 *
 * A paragraph is one or more lines KEY=VALUE, followed by an empty line. KEY is [a-z][a-z0-9_]*.
 * VALUE is printable ASCII (0x20..0x7e) and may be empty. A key appears once. A paragraph has at
 * most PARAGRAPH_PAIRS lines and PARAGRAPH_BYTES bytes. Any other text is malformed, and after
 * malformed text the stream cannot be used. rtf-plugin(7) documents the format for plugin authors.
 * The broker's journal has this format, too. */
#ifndef RTF_PARAGRAPH_H
#define RTF_PARAGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PARAGRAPH_PAIRS = 64, PARAGRAPH_BYTES = 8192, KEY_BYTES = 32 };

/* Keys and values point into the input's buffer, and are valid until the next paragraph_fill or
 * paragraph_feed. */
struct paragraph {
    int count;
    struct {
        const char *key, *value;
    } pair[PARAGRAPH_PAIRS];
};

struct paragraph_input {
    char *data;
    size_t capacity, length, taken; /* bytes [taken, length) are not parsed yet */
};

struct paragraph_output {
    char *data;
    size_t capacity, length;
};

/* Returns the value of the key. NULL: the key is absent. */
const char *paragraph_get(const struct paragraph *paragraph, const char *key);

/* Reads a number. 1: *value is a decimal number within [0, max]; 0: the key is absent; -1: the
 * value is not such a number. */
int paragraph_get_number(const struct paragraph *paragraph, const char *key, uint64_t max,
                         uint64_t *value);

/* Joins the words `about` and `what` to a key such as "units_count". The caller makes sure that the
 * key fits. Returns joined. */
const char *paragraph_key(char joined[static KEY_BYTES], const char *about, const char *what);

/* Calls read(2) once, and returns its result; -1 with ENOBUFS when a paragraph exceeds
 * PARAGRAPH_BYTES. */
ssize_t paragraph_fill(struct paragraph_input *input, int fd);

/* Appends bytes from another source (a datagram, a file). False with errno: out of memory. */
bool paragraph_feed(struct paragraph_input *input, const void *bytes, size_t length);

/* Takes the next paragraph out of the input. 1: *paragraph is this paragraph; 0: no complete
 * paragraph yet; -1: malformed, and *why says what is wrong. */
int paragraph_take(struct paragraph_input *input, struct paragraph *paragraph, const char **why);

void paragraph_input_free(struct paragraph_input *input);

/* Each of these functions appends one line. A value must be printable ASCII: otherwise a newline in
 * a user's text could end the paragraph. With another value the function aborts, because the caller
 * has a bug. */
void paragraph_add(struct paragraph_output *output, const char *key, const char *value);
void paragraph_add_format(struct paragraph_output *output, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void paragraph_add_number(struct paragraph_output *output, const char *key, uint64_t value);
/* Appends no line if the value is 0. */
void paragraph_add_stated(struct paragraph_output *output, const char *key, uint64_t value);

/* Replaces each byte that is not printable ASCII by '?', in place. Use this for values, and for a
 * user's text in a log. Returns text. */
char *paragraph_clean(char *text);

/* Appends the empty line that closes the paragraph. */
void paragraph_close(struct paragraph_output *output);

/* Appends text unchanged, for a reader that expects another format than paragraphs. */
void paragraph_add_text(struct paragraph_output *output, const char *text, size_t length);

/* Drops the first `length` bytes, which the caller has written. */
void paragraph_drop(struct paragraph_output *output, size_t length);
void paragraph_output_free(struct paragraph_output *output);

#endif
