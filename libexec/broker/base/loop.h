/* The loop is the only place where the broker waits. Each descriptor that can become ready belongs
 * to a source. Each time for which the broker waits belongs to a timer. Nothing polls: without
 * events and timers the broker sleeps. */
#ifndef RTF_LOOP_H
#define RTF_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "timers.h"

struct source {
    void (*ready)(struct source *source, uint32_t events);
    /* this source is called before all other sources that are ready in the same turn */
    bool is_first;
};

enum { LOOP_EVENTS = 64 };

void loop_start(void);
bool loop_add(int fd, uint32_t events, struct source *source);
void loop_change(int fd, uint32_t events, struct source *source);
void loop_remove(int fd);

/* Calls the sources that are ready. Unless `busy`, waits until a source is ready, or until the
 * first timer is due. A removed source stays valid until loop_turn returns. */
void loop_turn(bool busy);

#endif
