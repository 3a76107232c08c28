/* One event of the scheduler, in the form in which the recorder (recorder.h) hands it out. A record
 * has no text: the recorder has the names of threads apart from the records. */
#ifndef RTF_WATCH_RECORD_H
#define RTF_WATCH_RECORD_H

#include <stdint.h>
#include <sys/types.h>

/* The bytes of a thread's name, which may lack a zero byte at the end. */
enum { RECORD_NAME = 16 };

enum record_kind {
    RECORD_SWITCH,  /* `thread` leaves the CPU `cpu`, and `next` gets the CPU */
    RECORD_WAKING,  /* `thread` is being woken */
    RECORD_MIGRATE, /* `thread` moves to the CPU `to_cpu` */
    /* in the context of `thread`, a timer starts that will replenish a runtime at the time
     * `expires` */
    RECORD_THROTTLE,
    RECORD_REPLENISH, /* a replenishment timer has expired on the CPU `cpu` */
    /* only if the recording asks for causes (events_follow_causes) */
    RECORD_CALL,      /* `thread` enters the system call `call` */
    RECORD_RETURN,    /* `thread` leaves a system call */
    RECORD_FAULT,     /* the kernel begins to handle a page fault of `thread` */
    RECORD_INTERRUPT, /* an interrupt begins on the CPU, which `thread` has */
    RECORD_RESUME     /* the interrupt ends */
};

/* The state in which a thread leaves its CPU, as in the record of the kernel. */
enum {
    STATE_SLEEPS =
        0xff,          /* any of these bits: the thread sleeps or has ended; else it is runnable */
    STATE_ENDED = 0x30 /* any of these bits: the thread has ended */
};

/* Values of `state`. In a RECORD_WAKING, WOKEN_BY_INTERRUPT says that an interrupt wakes the
 * thread. In a RECORD_INTERRUPT, INTERRUPT_OF_TIMER says that the interrupt comes from the CPU's
 * own timer. */
enum { WOKEN_BY_INTERRUPT = 1, INTERRUPT_OF_TIMER = 1 };

/* The threads that had the CPU while `next` waited for it. */
enum wait_kind {
    WAIT_NOT_TOLD,
    WAIT_OTHERS, /* real-time threads of the same or a higher rank */
    WAIT_LOWER,  /* threads of a lower rank: the kernel keeps some time for ordinary threads */
    WAIT_NONE,   /* no thread: the CPU was idle */
    WAIT_LOST    /* an event of this CPU is lost */
};

struct record {
    int64_t time; /* ns, CLOCK_MONOTONIC */
    uint8_t kind; /* enum record_kind */
    uint8_t wait; /* RECORD_SWITCH, from rtf-watch: enum wait_kind */
    uint16_t cpu, to_cpu;
    uint16_t state;                  /* RECORD_SWITCH: the state of `thread` */
    int16_t priority, next_priority; /* RECORD_SWITCH: -1: SCHED_DEADLINE, 0 to 98: real-time */
    /* thread 0 is the idle thread of the CPU. RECORD_WAKING: `next` is the thread that wakes
     * `thread`; 0: not told */
    pid_t thread, next;
    uint16_t others; /* WAIT_OTHERS: how many threads had the CPU */
    uint16_t call;   /* RECORD_CALL: its number */
    uint64_t timer;  /* RECORD_THROTTLE, RECORD_REPLENISH: the timer */
    int64_t expires; /* RECORD_THROTTLE: ns, CLOCK_MONOTONIC */
};

#endif
