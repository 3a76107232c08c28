/* The last word to owners when the broker stops: their threads are what they were before, and no verdict says "attached". */
#ifndef RTF_FAREWELL_H
#define RTF_FAREWELL_H

/* After the threads have been put back. Readers have a second together: an owner can stop a reader, but not the broker. */
void farewell(void);

#endif
