/* Finds sched_pi_setprio, the tracepoint by which the kernel reports priority inheritance. */
#ifndef RTF_TRACEPOINT_H
#define RTF_TRACEPOINT_H

enum { TRACEPOINT_TEXT = 64 };

/* Writes "ID:PID:OLDPRIO:NEWPRIO": the number of the tracepoint, and the offsets of three fields in
 * its records. "": the kernel has no such tracepoint. Call this with all privileges. If tracefs is
 * not mounted, the function mounts tracefs where no other process sees it. */
void tracepoint_find(char text[static TRACEPOINT_TEXT]);

#endif
