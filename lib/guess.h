/* Finds the known word that is nearest to an unknown one: "perid" is period. */
#ifndef RTF_GUESS_H
#define RTF_GUESS_H

#include <stddef.h>

/* word: the nearest so far; NULL as long as none is near. */
struct guess {
    const char *typed, *word;
    size_t distance;
};

struct guess guess_begin(const char *typed);

/* Tries one of the known words. */
void guess_try(struct guess *guess, const char *word);

#endif
