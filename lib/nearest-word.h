/* Finds the known word that is nearest to an unknown word: for "perid" this is "period". */
#ifndef RTF_NEAREST_WORD_H
#define RTF_NEAREST_WORD_H

#include <stddef.h>

/* word: the nearest word so far; NULL: no known word is near enough. */
struct nearest_word {
    const char *typed, *word;
    size_t distance;
};

struct nearest_word nearest_word_begin(const char *typed);

/* Compares one of the known words with the typed word. */
void nearest_word_try(struct nearest_word *guess, const char *word);

#endif
