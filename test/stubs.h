/* The calls that the stubs have got, for the unit tests. */
#ifndef RTF_STUBS_H
#define RTF_STUBS_H

#include <stdbool.h>

enum { SAID_BYTES = 1024 };
extern char said[SAID_BYTES]; /* the last event that event_broker got */
extern int said_count;
extern char written[SAID_BYTES]; /* the reason of the last line of the log about a user */
extern int written_count;

/* Called for launcher_start. NULL: no program can be started. stub_ended counts the calls of
 * launcher_end. */
extern bool (*stub_start)(int child, int in, int out, int keep);
extern int stub_ended;

#endif
