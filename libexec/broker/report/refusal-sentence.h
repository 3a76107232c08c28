/* The sentence of a refusal, for people. The broker makes it here, once; each command prints the
 * sentence of the verdict. */
#ifndef RTF_REFUSAL_SENTENCE_H
#define RTF_REFUSAL_SENTENCE_H

#include "reservation.h"

enum { SENTENCE_BYTES = REASON_BYTES + sizeof((struct refusal *)NULL)->rule + 160 };

/* "EDF refused: CPU 1 has 0.12 of 0.95 left, 0.2 asked; a runtime of at most 1200us would fit".
 * Returns text. */
char *refusal_sentence(const struct outcome *outcome, char text[static SENTENCE_BYTES]);

/* The key of the spec, or of a claim, whose value `nearest` is. */
const char *refusal_nearest_of(const struct refusal *refusal);

#endif
