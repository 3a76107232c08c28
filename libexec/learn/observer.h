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
    struct thread_watch *threads; /* OBSERVER_THREADS at most */
    size_t count;
    bool overflowed; /* the process has more threads than fit */
    unsigned drains; /* since the last look */
    int64_t looked;  /* the time of the last look, ns */
};

/* False with errno: there is no such process, or no memory. */
bool observer_open(struct observer *observer, pid_t process, enum watch_source source);

/* How long to wait until the next observer_take, in us: so long that it costs little. */
uint64_t observer_interval(const struct observer *observer);

/* Takes what has happened, and looks for new threads each 100 ms. */
void observer_take(struct observer *observer, int64_t now);

/* Fills fds with descriptors that become readable when a thread has something to take, and returns
 * their number: at most OBSERVER_THREADS. observer_drain takes it. None, if there was so much to
 * take since the last look that taking it costs too much: then it waits for the next look. */
struct pollfd;
size_t observer_descriptors(const struct observer *observer, struct pollfd *fds);
void observer_drain(struct observer *observer, const struct pollfd *fds, size_t count);

/* The last call of observer_take before the threads are judged. */
void observer_end(struct observer *observer, int64_t now);

void observer_close(struct observer *observer);

#endif
