/* One event of the scheduler, in the form in which the recorder (recorder.h) hands it out. A record
 * has no text: the recorder has the names of threads apart from the records. */
#ifndef RTF_WATCH_RECORD_H
#define RTF_WATCH_RECORD_H

#include <stdint.h>
#include <sys/types.h>

/* The bytes of a thread's name, which may lack a zero byte at the end. */
enum { RECORD_NAME = 16 };

enum record_kind {
    RECORD_SWITCH,   /* `thread` leaves the CPU `cpu`, and `next` gets the CPU */
    RECORD_WAKING,   /* `thread` is being woken */
    RECORD_MIGRATE,  /* `thread` moves to the CPU `to_cpu` */
    RECORD_THROTTLE, /* in the context of `thread`, a replenishment timer starts, until `expires` */
    RECORD_REPLENISH /* a replenishment timer has expired on the CPU `cpu` */
};

/* The state in which a thread leaves its CPU, as in the record of the kernel. */
enum {
    STATE_SLEEPS =
        0xff,          /* any of these bits: the thread sleeps or has ended; else it is runnable */
    STATE_ENDED = 0x30 /* any of these bits: the thread has ended */
};

struct record {
    int64_t time; /* ns, CLOCK_MONOTONIC */
    uint8_t kind; /* enum record_kind */
    uint16_t cpu, to_cpu;
    uint16_t state;                  /* RECORD_SWITCH: the state of `thread` */
    int16_t priority, next_priority; /* RECORD_SWITCH: -1: SCHED_DEADLINE, 0 to 98: real-time */
    pid_t thread, next;              /* 0: the idle thread of the CPU */
    uint64_t timer;                  /* RECORD_THROTTLE, RECORD_REPLENISH: the timer */
    int64_t expires;                 /* RECORD_THROTTLE: ns, CLOCK_MONOTONIC */
};

#endif
