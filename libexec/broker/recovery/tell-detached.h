/* When the broker stops, tells owners that their threads have their former attributes again.
 * Afterwards no verdict says "attached". */
#ifndef RTF_TELL_DETACHED_H
#define RTF_TELL_DETACHED_H

/* Call this after lay_down. Waits for all readers together, at most a second: an owner can suspend
 * a reader, and must not delay the end of the broker. */
void tell_detached(void);

#endif
