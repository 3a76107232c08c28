/* Where the kernel tells of priority inheritance: the tracepoint sched_pi_setprio. */
#ifndef RTF_TRACEPOINT_H
#define RTF_TRACEPOINT_H

enum { TRACEPOINT_TEXT = 64 };

/* "ID:PID:OLDPRIO:NEWPRIO": its number, and where these fields are in its records; "" if there is none. With all privileges. Where
 * tracefs is not mounted it is looked into all the same, and nobody else sees it. */
void tracepoint_find(char text[static TRACEPOINT_TEXT]);

#endif
