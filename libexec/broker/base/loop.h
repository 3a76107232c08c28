/* The one place that waits. Every descriptor that can become ready belongs to a source, and whatever has a time to a timer. Nothing polls:
 * without events, and with no timer set, the broker sleeps. */
#ifndef RTF_LOOP_H
#define RTF_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "timers.h"

struct source {
    void (*ready)(struct source *source, uint32_t events);
    bool is_first; /* comes before those that are ready with it */
};

enum { LOOP_EVENTS = 64 };

void loop_start(void);
bool loop_add(int fd, uint32_t events, struct source *source);
void loop_change(int fd, uint32_t events, struct source *source);
void loop_remove(int fd);

/* Calls the sources that are ready. Unless `busy`, waits until there is one, or until the first timer's time. A source stays valid until it
 * returns, even if it has been removed. */
void loop_turn(bool busy);

#endif
