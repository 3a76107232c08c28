/* What a user was told, kept for him: .events of his directory, a JSON object a line, where he has made that file; for rtf-log(1). A verdict has its
 * line after everybody who waits for it has it. Nothing is waited for, and what cannot be written is left out. */
#ifndef RTF_READER_KEPT_H
#define RTF_READER_KEPT_H

#include <stddef.h>

/* {"name": NAME, "verdict": TEXT}, without what ends the text's line. */
void kept_verdict(const char *name, const char *text, size_t length);

/* {"name": NAME, "released": SECONDS, "ended": WHY}: the reservation has ended. `why` is a word of the broker's; NULL: "user". */
void kept_release(const char *name, const char *why);

#endif
