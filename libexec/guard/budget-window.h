/* How much of its runtime a guarded thread may have when: the arithmetic of rtf-guard, without a system call.
 *
 * A window is the time in which one runtime may be used, and is one period long. The next one begins when the runtime of this one is
 * used up, but never less than a period after this one began; until then the thread has to wait. So n runtimes take n - 1 periods at
 * least, whatever the thread does, and in a time of k periods it has at most k + 1 of them.
 *
 * Who counts only what is used cannot see when a job was released. A thread that others kept waiting runs later than it was meant to,
 * and its next job may be on time: the two are closer together than a period, by what it waited for its CPU (/proc/TID/schedstat). So
 * where a window begins late, it is taken to have begun earlier by that, though not before the last one was over. */
#ifndef RTF_BUDGET_WINDOW_H
#define RTF_BUDGET_WINDOW_H

#include <stdint.h>

/* ns; CLOCK_MONOTONIC. */
struct window {
    int64_t began, runtime, period;
};

/* The runtime is used up now, `times` times since the last call; `waited` for its CPU meanwhile. Begins the next window, and returns when
 * the thread may go on; 0: at once. */
int64_t window_used_up(struct window *window, int64_t now, int64_t waited, int64_t times);

#endif
