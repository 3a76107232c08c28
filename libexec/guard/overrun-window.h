/* When a guarded thread may use its runtime: the arithmetic of rtf-guard, without a system call.
 *
 * In a window a thread may use one runtime. A window is at least one period long. When the runtime
 * of a window is used up, the thread waits until the period of the window is over; then the next
 * window begins. If the period is over already, the next window begins at once. So n runtimes take
 * at least n - 1 periods, and in k periods a thread has at most k + 1 runtimes.
 *
 * The guard sees only when runtime is used, not when a job is released. Other threads may keep a
 * thread from its CPU. Its job then runs late, and its next job may be on time, so the two jobs are
 * closer together than a period, by the time that the thread waited for its CPU
 * (/proc/TID/schedstat). So a window that begins late is moved back by this waiting time, but not
 * to a time before the end of the preceding window's period.
 *
 * A suspension costs the guard about 0.13 ms of CPU time in a virtual machine, whatever the period
 * is. So suspensions of one thread are at least 4 ms apart on average, over a second or more. A
 * thread with a period below 4 ms that was late can catch up within this second. If it keeps using
 * up its runtime, it is suspended for longer.
 *
 * The threads of a process with one runtime are suspended together, and each of them costs the
 * guard about 0.012 ms. So each thread adds 0.25 ms to the distance, and shortens the time to catch
 * up by 2 ms, to 0 for 500 threads. Without this, a process with 1 ms in 10 ms made the guard use
 * 62 % of a CPU. */
#ifndef RTF_OVERRUN_WINDOW_H
#define RTF_OVERRUN_WINDOW_H

#include <stdint.h>

/* ns; began, paid_until: CLOCK_MONOTONIC. */
struct window {
    int64_t began, runtime, period;
    int64_t paid_until; /* when the suspensions so far would be over if each took 4 ms */
    int64_t others;     /* how many further threads are suspended with the thread */
};

/* Call this when the guard sees, at `now`, that the runtime is used up. `times`: how many runtimes
 * the thread has used up since the last call. `waited`: how long the thread has waited for its CPU
 * since that call, ns. Begins the next window. Returns the time at which the thread may run on; 0:
 * at once. */
int64_t window_used_up(struct window *window, int64_t now, int64_t waited, int64_t times);

/* Notes that the thread is suspended at `now`. Returns the end of the suspension: `until`, or a
 * later time if the thread was suspended too often. */
int64_t window_suspend(struct window *window, int64_t now, int64_t until);

#endif
