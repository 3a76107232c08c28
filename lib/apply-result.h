/* How a call of scheduling.h or cpuset-leaf.h has ended. */
#ifndef RTF_APPLY_RESULT_H
#define RTF_APPLY_RESULT_H

/* BUSY: refused for now; what others hold is in the way. PENDING: it sleeps, and the kernel
 * makes it real-time only when it runs; or it is ordinary now, but must stay where it is for scheduling_owed. */
enum apply_result { APPLY_DONE, APPLY_GONE, APPLY_REFUSED, APPLY_BUSY, APPLY_PENDING };
enum { APPLY_REASON = 400 };

/* Writes the sentence and returns APPLY_REFUSED. */
enum apply_result apply_refuse(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
