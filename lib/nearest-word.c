#include "nearest-word.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 40 }; /* characters; longer than any known word */

/* Returns the character as a lower-case letter, and '_' for '-', because the comparison ignores
 * these differences. */
static char plain(char character)
{
    return (char)(character == '-' ? '_' : tolower((unsigned char)character));
}

static size_t least(size_t a, size_t b, size_t c)
{
    const size_t less = a < b ? a : b;
    return less < c ? less : c;
}

static bool are_swapped(const char *a, const char *b)
{
    return plain(a[-1]) == plain(b[0]) && plain(a[0]) == plain(b[-1]);
}

/* The edit distance (Damerau-Levenshtein): the number of characters to insert, delete, replace, or
 * swap with the next character. rows[i % 3] belongs to the first i characters of a. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    const size_t length_a = strlen(a), length_b = strlen(b);
    for (size_t j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        const size_t *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            row[j] = least(row[j - 1] + 1, before[j] + 1,
                           before[j - 1] + (plain(a[i - 1]) != plain(b[j - 1])));
            if (i > 1 && j > 1 && are_swapped(&a[i - 1], &b[j - 1]))
                row[j] = least(row[j], earlier[j - 2] + 1, row[j]);
        }
    }
    return rows[length_a % 3][length_b];
}

/* Begins a search for the word nearest to `typed`. A word is near enough if at most a third of the
 * characters is wrong. */
struct nearest_word nearest_word_begin(const char *typed)
{
    return (struct nearest_word){.typed = typed, .distance = strlen(typed) / 3 + 1};
}

void nearest_word_try(struct nearest_word *guess, const char *word)
{
    if (strlen(guess->typed) > LONGEST || strlen(word) > LONGEST)
        return;
    const size_t far = distance(guess->typed, word);
    if (far < guess->distance) {
        guess->distance = far;
        guess->word = word;
    }
}
