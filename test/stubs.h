/* What the stubs have heard, for who asks (the unit tests do). */
#ifndef RTF_STUBS_H
#define RTF_STUBS_H

enum { SAID_BYTES = 1024 };
extern char said[SAID_BYTES]; /* what event_broker was told last */
extern int said_count;

#endif
