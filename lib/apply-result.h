/* The results of the functions in scheduling.h and cpuset-leaf.h, which change the scheduling of a
 * thread. */
#ifndef RTF_APPLY_RESULT_H
#define RTF_APPLY_RESULT_H

/* GONE: the thread has ended, and another thread may have its id now. BUSY: the kernel refuses the
 * call now, because other tasks hold the bandwidth; the same call may succeed later. PENDING: the
 * caller has to repeat the call. If scheduling_counted_us() is 0, the thread sleeps, and the kernel
 * can make the thread real-time only when the thread has run. If scheduling_counted_us() is above
 * 0, the thread is ordinary now, and has to stay in its scheduling domain for this number of us. */
enum apply_result { APPLY_DONE, APPLY_GONE, APPLY_REFUSED, APPLY_BUSY, APPLY_PENDING };
enum { APPLY_REASON = 400 };

/* Formats a sentence into *reason (APPLY_REASON bytes) and returns APPLY_REFUSED. */
enum apply_result apply_refuse(char *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
