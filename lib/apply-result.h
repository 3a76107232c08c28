/* The result of a call of scheduling.h or cpuset-leaf.h. */
#ifndef RTF_APPLY_RESULT_H
#define RTF_APPLY_RESULT_H

/* GONE: the thread has ended, and another thread may have its id now. BUSY: the kernel refuses the
 * call now, because other tasks hold the bandwidth; the same call may succeed later. PENDING: the
 * thread sleeps, and the kernel can make it real-time only when it has run; or, if
 * scheduling_counted_us() > 0, the thread is ordinary and has to stay in its domain for that many
 * us. */
enum apply_result { APPLY_DONE, APPLY_GONE, APPLY_REFUSED, APPLY_BUSY, APPLY_PENDING };
enum { APPLY_REASON = 400 };

/* Writes the sentence into *reason (APPLY_REASON bytes) and returns APPLY_REFUSED. */
enum apply_result apply_refuse(char *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
