/* Tells owners, when the broker stops, that their threads have been put back: no verdict says "attached" any more. */
#ifndef RTF_TELL_DETACHED_H
#define RTF_TELL_DETACHED_H

/* After lay_down. Waits for all readers together, a second at most: an owner can suspend a reader, and that does not delay the end of the broker further. */
void tell_detached(void);

#endif
