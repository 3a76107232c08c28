/* Events of the scheduler from the kernel's buffers, for root: an instance of tracefs
 * (trace-instance.h) and a decoder (decode.h). The caller names the threads. */
#ifndef RTF_TRACE_EVENTS_H
#define RTF_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "decode.h"
#include "trace-instance.h"

enum { EVENTS_WHY = 256, EVENTS_CAUSES = 64 };

struct events;

/* Makes an instance. root: an open directory of tracefs, or -1. NULL: `why` has a sentence. */
struct events *events_open(int root, char why[static EVENTS_WHY]);
void events_close(struct events *events);

/* Makes the kernel record events of these threads. every_switch: also record each change of the
 * running thread on all CPUs. False: errno says why. */
bool events_follow(struct events *events, const pid_t *threads, size_t count, bool every_switch);

/* Makes the kernel also record the events that tell why jobs are late (RECORD_CALL and later
 * kinds), for at most EVENTS_CAUSES threads. count 0: for no thread. Meanwhile each system call on
 * the machine takes longer. False: errno says why. */
bool events_follow_causes(struct events *events, const pid_t *threads, size_t count);

/* The causes of lateness that this kernel can tell, as bits. */
enum events_causes { EVENTS_CALLS = 1, EVENTS_FAULTS = 2, EVENTS_INTERRUPTS = 4, EVENTS_TICKS = 8 };
unsigned events_causes(const struct events *events);

/* Switches the events on, which takes the kernel some ms. The buffers stay empty until
 * events_begin. False: errno says why. */
bool events_enable(struct events *events);

/* events_begin makes the kernel fill the buffers, and events_end stops this. Each returns the time,
 * ns of CLOCK_MONOTONIC. */
int64_t events_begin(struct events *events);
int64_t events_end(struct events *events);

/* True if the kernel says which timers replenish threads. If false, there are no records about
 * timers. */
bool events_know_timers(const struct events *events);

/* A descriptor for poll(2), which becomes readable when half a buffer is full. */
int events_descriptor(const struct events *events);

/* Takes all events out of the buffers. page: a function that gets each page of the kernel after the
 * decoder has taken the page; NULL: none. False: *full has become true, so events may be left in
 * the buffers. */
typedef void events_page(void *context, unsigned cpu, void *page, size_t size);
void events_drain(struct events *events, const struct decoder_listener *listener, events_page *page,
                  void *context, const bool *full);

unsigned events_cpus(const struct events *events);
const struct instance *events_instance(const struct events *events);
struct decoder *events_decoder(const struct events *events);

/* Returns the address of the kernel's function dl_task_timer, which replenishes SCHED_DEADLINE
 * threads; 0: the kernel hides the address. */
uint64_t events_replenishment(void);

#endif
