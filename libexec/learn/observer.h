/* Observes all threads of a process. */
#ifndef RTF_LEARN_OBSERVER_H
#define RTF_LEARN_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread-watch.h"

enum { OBSERVER_THREADS = 256, OBSERVER_LOOK = 100000 /* us */ };

struct observer {
    pid_t process;
    enum watch_source source;
    struct thread_watch *threads; /* an array of OBSERVER_THREADS, of which `count` are in use */
    size_t count;
    bool overflowed; /* the process has more threads than fit into `threads` */
    unsigned drains; /* number of calls of thread_watch_drain since the last look */
    int64_t looked;  /* the time of the last look, ns */
};

/* Begins to observe the process. False with errno: there is no such process, or no memory. */
bool observer_open(struct observer *observer, pid_t process, enum watch_source source);

/* Returns how long the caller waits until the next observer_take, in us. The time is so long that
 * the calls cost little CPU time. */
uint64_t observer_interval(const struct observer *observer);

/* Takes the events and samples of all threads. Each 100 ms, also looks for new threads. */
void observer_take(struct observer *observer, int64_t now);

/* observer_descriptors fills fds with descriptors, and returns their number, at most
 * OBSERVER_THREADS. A descriptor becomes readable when a thread has events to take, and then
 * observer_drain takes them. If there were so many events since the last look that taking them
 * costs too much, the number is 0, and further events wait for the next look. */
struct pollfd;
size_t observer_descriptors(const struct observer *observer, struct pollfd *fds);
void observer_drain(struct observer *observer, const struct pollfd *fds, size_t count);

/* Takes the events of all threads for the last time, before the caller judges the threads. */
void observer_end(struct observer *observer, int64_t now);

void observer_close(struct observer *observer);

#endif
