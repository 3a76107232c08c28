/* Sorts system calls by the reason for which a thread sleeps in them, as far as the number of the
 * call tells the reason. */
#ifndef RTF_WATCH_CALL_KINDS_H
#define RTF_WATCH_CALL_KINDS_H

#include <stdint.h>

enum call_kind {
    CALL_OTHER,
    /* waits for a time, or for any of several events: a thread waits in this way for its next
     * job */
    CALL_PAUSE,
    CALL_YIELD, /* sched_yield(2): a SCHED_DEADLINE thread waits for its next period */
    CALL_LOCK   /* futex(2): locks, semaphores and conditions of the C library */
};

enum call_kind call_kind(uint16_t call);

#endif
