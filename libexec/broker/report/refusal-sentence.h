/* A refusal in one sentence for people. It is made here and nowhere else: each command prints what the verdict has. */
#ifndef RTF_REFUSAL_SENTENCE_H
#define RTF_REFUSAL_SENTENCE_H

#include "reservation.h"

enum { SENTENCE_BYTES = REASON_BYTES + sizeof((struct refusal *)NULL)->rule + 160 };

/* "EDF refused: CPU 1 has 0.12 of 0.95 left, 0.2 asked; a runtime of at most 1200us would fit". Returns text. */
char *refusal_sentence(const struct outcome *outcome, char text[static SENTENCE_BYTES]);

/* What `nearest` is a value of: a key of the spec, or of its claim. */
const char *refusal_nearest_of(const struct refusal *refusal);

#endif
