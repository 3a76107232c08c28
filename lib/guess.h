/* Finds the known word nearest to an unknown one: for "perid" the word is "period". */
#ifndef RTF_GUESS_H
#define RTF_GUESS_H

#include <stddef.h>

/* word: the nearest word so far; NULL: none is near enough. */
struct guess {
    const char *typed, *word;
    size_t distance;
};

struct guess guess_begin(const char *typed);

/* Tries one of the known words. */
void guess_try(struct guess *guess, const char *word);

#endif
