/* System calls by the reason for which threads sleep in them, as far as the number of a call tells. */
#ifndef RTF_WATCH_CALL_KINDS_H
#define RTF_WATCH_CALL_KINDS_H

#include <stdint.h>

enum call_kind {
    CALL_OTHER,
    CALL_PAUSE, /* a time, or any of several events: a thread waits so for its next job */
    CALL_YIELD, /* sched_yield(2): a SCHED_DEADLINE thread waits for its next period */
    CALL_LOCK   /* futex(2): locks, semaphores and conditions of the C library */
};

enum call_kind call_kind(uint16_t call);

#endif
