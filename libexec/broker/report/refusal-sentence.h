/* Makes the sentence that tells people why a request was refused. Only the broker makes this
 * sentence. The commands of rtf print the sentence that they find in the verdict. */
#ifndef RTF_REFUSAL_SENTENCE_H
#define RTF_REFUSAL_SENTENCE_H

#include "reservation.h"

enum { SENTENCE_BYTES = REASON_BYTES + sizeof((struct refusal *)NULL)->rule + OTHER_BYTES + 160 };

/* "EDF refused: CPU 1 has 0.12 of 0.95 left, 0.2 asked; a runtime of at most 1200us would fit; FP,
 * which makes no schedulability test, refused: needs a priority". Returns `text`. */
char *refusal_sentence(const struct outcome *outcome, char text[static SENTENCE_BYTES]);

/* Returns the key of the spec, or of a claim, to which the value refusal->nearest belongs. */
const char *refusal_nearest_of(const struct refusal *refusal);

#endif
