/* The one message form between the broker, its plugins and its helpers.
 *
 * A paragraph is one or more lines KEY=VALUE, closed by an empty line. KEY is [a-z][a-z0-9_]*, VALUE is
 * printable ASCII (0x20..0x7e) and may be empty. A key appears once. At most PARAGRAPH_PAIRS lines and
 * PARAGRAPH_BYTES bytes; anything else is malformed, and after a malformed paragraph the stream is lost.
 * rtf-plugin(7) documents the form for plugin authors; state/journal is written in it too. */
#ifndef RTF_PARAGRAPH_H
#define RTF_PARAGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PARAGRAPH_PAIRS = 64, PARAGRAPH_BYTES = 8192, KEY_BYTES = 32 };

/* Keys and values point into the input's buffer: valid until the next paragraph_fill or paragraph_feed. */
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

/* NULL when the key is absent. */
const char *paragraph_get(const struct paragraph *paragraph, const char *key);

/* 1: present and a plain decimal within [0, max]; 0: absent; -1: present and not that. */
int paragraph_get_number(const struct paragraph *paragraph, const char *key, uint64_t max, uint64_t *value);

/* "ABOUT_WHAT": a key for one of several things that have the same. Both are words of the caller's, and fit. Returns joined. */
const char *paragraph_key(char joined[static KEY_BYTES], const char *about, const char *what);

/* One read(2). Returns what read returned; -1 with ENOBUFS when a paragraph exceeds PARAGRAPH_BYTES. */
ssize_t paragraph_fill(struct paragraph_input *input, int fd);

/* Appends bytes that came another way (a datagram, a file). False with errno when memory is out. */
bool paragraph_feed(struct paragraph_input *input, const void *bytes, size_t length);

/* 1: *paragraph is the next one; 0: no complete one is there; -1: malformed, *why says how. */
int paragraph_take(struct paragraph_input *input, struct paragraph *paragraph, const char **why);

void paragraph_input_free(struct paragraph_input *input);

/* Appends one line. The caller passes values of its own making; a value that is not printable ASCII is a
 * bug and aborts, for it would let text end the paragraph. */
void paragraph_add(struct paragraph_output *output, const char *key, const char *value);
void paragraph_add_format(struct paragraph_output *output, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void paragraph_add_number(struct paragraph_output *output, const char *key, uint64_t value);
void paragraph_add_stated(struct paragraph_output *output, const char *key, uint64_t value); /* unless it is 0 */

/* Replaces what is not printable ASCII by '?', in place: for values, and for what a log may show of a user's text.
 * Returns text. */
char *paragraph_clean(char *text);

/* Appends the empty line that closes the paragraph. */
void paragraph_close(struct paragraph_output *output);

/* Appends text of another form, as it is, for who reads no paragraphs. */
void paragraph_add_text(struct paragraph_output *output, const char *text, size_t length);

/* Forgets the first `length` bytes, which have been written. */
void paragraph_drop(struct paragraph_output *output, size_t length);
void paragraph_output_free(struct paragraph_output *output);

#endif
