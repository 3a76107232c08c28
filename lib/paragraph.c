#include "paragraph.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

const char *paragraph_get(const struct paragraph *paragraph, const char *key)
{
    /* compares the first character before it calls strcmp, because a call for each key took a fifth
     * of a plugin's time */
    for (int i = 0; i < paragraph->count; i++)
        if (paragraph->pair[i].key[0] == key[0] && strcmp(paragraph->pair[i].key, key) == 0)
            return paragraph->pair[i].value;
    return NULL;
}

int paragraph_get_number(const struct paragraph *paragraph, const char *key, uint64_t max,
                         uint64_t *value)
{
    const char *text = paragraph_get(paragraph, key);
    if (text == NULL)
        return 0;
    return parse_number(text, max, value) ? 1 : -1;
}

/* Makes space for `more` bytes: moves the unparsed bytes to the front, then enlarges the buffer if
 * needed. */
static bool make_room(struct paragraph_input *input, size_t more)
{
    if (input->taken > 0) {
        if (input->length > input->taken)
            memmove(input->data, input->data + input->taken, input->length - input->taken);
        input->length -= input->taken;
        input->taken = 0;
    }
    if (input->length + more <= input->capacity)
        return true;
    size_t capacity = input->capacity == 0 ? PARAGRAPH_BYTES : input->capacity;
    while (capacity < input->length + more)
        capacity *= 2;
    char *data = realloc(input->data, capacity);
    if (data == NULL)
        return false;
    input->data = data;
    input->capacity = capacity;
    return true;
}

ssize_t paragraph_fill(struct paragraph_input *input, int fd)
{
    if (input->length - input->taken >= PARAGRAPH_BYTES) {
        errno = ENOBUFS;
        return -1;
    }
    if (!make_room(input, PARAGRAPH_BYTES))
        return -1;
    ssize_t got = read(fd, input->data + input->length, PARAGRAPH_BYTES);
    if (got > 0)
        input->length += (size_t)got;
    return got;
}

bool paragraph_feed(struct paragraph_input *input, const void *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (!make_room(input, length))
        return false;
    memcpy(input->data + input->length, bytes, length);
    input->length += length;
    return true;
}

static bool key_is_valid(const char *key)
{
    /* a loop, because strspn(3) builds a table in each call, which takes longer */
    bool good = *key >= 'a' && *key <= 'z';
    for (; good && *key != '\0'; key++)
        good = (*key >= 'a' && *key <= 'z') || (*key >= '0' && *key <= '9') || *key == '_';
    return good;
}

static bool is_printable(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] < 0x20 || bytes[i] > 0x7e)
            return false;
    return true;
}

static bool take_line(struct paragraph *paragraph, char *line, size_t length, const char **why)
{
    if (!is_printable(line, length)) {
        *why = "a byte that is not printable ASCII";
        return false;
    }
    char *equals = memchr(line, '=', length);
    if (equals == NULL) {
        *why = "a line without '='";
        return false;
    }
    *equals = '\0';
    line[length] = '\0';
    if (!key_is_valid(line)) {
        *why = "a key outside [a-z][a-z0-9_]*";
        return false;
    }
    if (paragraph_get(paragraph, line) != NULL) {
        *why = "a key twice in one paragraph";
        return false;
    }
    if (paragraph->count == PARAGRAPH_PAIRS) {
        *why = "too many lines in one paragraph";
        return false;
    }
    paragraph->pair[paragraph->count].key = line;
    paragraph->pair[paragraph->count].value = equals + 1;
    paragraph->count++;
    return true;
}

int paragraph_take(struct paragraph_input *input, struct paragraph *paragraph, const char **why)
{
    size_t unparsed = input->length - input->taken;
    if (unparsed == 0)
        return 0;
    char *start = input->data + input->taken;
    char *end = *start == '\n' ? start : memmem(start, unparsed, "\n\n", 2);
    if (end == NULL) {
        if (unparsed < PARAGRAPH_BYTES)
            return 0;
        *why = "a paragraph without end";
        return -1;
    }
    paragraph->count = 0;
    if (end == start) {
        *why = "an empty paragraph";
        return -1;
    }
    if (end - start > PARAGRAPH_BYTES) {
        *why = "a paragraph that is too long";
        return -1;
    }
    for (char *line = start; line <= end;) {
        char *newline = memchr(line, '\n', (size_t)(end + 1 - line));
        if (!take_line(paragraph, line, (size_t)(newline - line), why))
            return -1;
        line = newline + 1;
    }
    input->taken = (size_t)(end + 2 - input->data);
    return 1;
}

void paragraph_input_free(struct paragraph_input *input)
{
    free(input->data);
    *input = (struct paragraph_input){0};
}

static char *reserve(struct paragraph_output *output, size_t more)
{
    if (output->length + more > output->capacity) {
        size_t capacity = output->capacity == 0 ? 512 : output->capacity;
        while (capacity < output->length + more)
            capacity *= 2;
        char *data = realloc(output->data, capacity);
        if (data == NULL)
            /* no memory: half a message in the stream would be worse than the end of this
             * program */
            abort();
        output->data = data;
        output->capacity = capacity;
    }
    return output->data + output->length;
}

static void add_line(struct paragraph_output *output, const char *key, const char *value,
                     size_t length)
{
    size_t key_length = strlen(key);
    if (length >= PARAGRAPH_BYTES || !is_printable(value, length))
        abort();
    char *at = reserve(output, key_length + length + 2);
    memcpy(at, key, key_length);
    at[key_length] = '=';
    memcpy(at + key_length + 1, value, length);
    at[key_length + 1 + length] = '\n';
    output->length += key_length + length + 2;
}

void paragraph_add(struct paragraph_output *output, const char *key, const char *value)
{
    add_line(output, key, value, strlen(value));
}

void paragraph_add_format(struct paragraph_output *output, const char *key, const char *format, ...)
{
    char value[PARAGRAPH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    if (length < 0)
        abort();
    add_line(output, key, value, (size_t)length);
}

void paragraph_add_number(struct paragraph_output *output, const char *key, uint64_t value)
{
    char text[NUMBER_TEXT];
    const char *digits = format_number(value, text);
    add_line(output, key, digits, strlen(digits));
}

const char *paragraph_key(char joined[static KEY_BYTES], const char *about, const char *what)
{
    char *end = stpcpy(joined, about);
    *end = '_';
    memcpy(end + 1, what, strlen(what) + 1);
    return joined;
}

void paragraph_add_stated(struct paragraph_output *output, const char *key, uint64_t value)
{
    if (value != 0)
        paragraph_add_number(output, key, value);
}

char *paragraph_clean(char *text)
{
    for (char *at = text; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    return text;
}

void paragraph_close(struct paragraph_output *output)
{
    *reserve(output, 1) = '\n';
    output->length++;
}

void paragraph_add_text(struct paragraph_output *output, const char *text, size_t length)
{
    memcpy(reserve(output, length), text, length);
    output->length += length;
}

void paragraph_drop(struct paragraph_output *output, size_t length)
{
    memmove(output->data, output->data + length, output->length - length);
    output->length -= length;
}

void paragraph_output_free(struct paragraph_output *output)
{
    free(output->data);
    *output = (struct paragraph_output){0};
}
