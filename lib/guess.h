/* What somebody has typed that means nothing, and the word that it most likely was to be: "perid" is period. */
#ifndef RTF_GUESS_H
#define RTF_GUESS_H

#include <stddef.h>

/* word: the nearest so far; NULL as long as none is near. */
struct guess {
    const char *typed, *word;
    size_t distance;
};

struct guess guess_begin(const char *typed);

/* One of the words that there are. */
void guess_try(struct guess *guess, const char *word);

#endif
