/* The one place that waits. Every descriptor that can become ready belongs to a source; main dispatches on
 * its kind. Nothing polls: without events and without a pending deadline the broker sleeps. */
#ifndef RTF_LOOP_H
#define RTF_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "clock.h"

enum source_kind { SOURCE_SIGNALS, SOURCE_ADOPTER, SOURCE_READER, SOURCE_WAKE, SOURCE_PLUGIN, SOURCE_HELPER, SOURCE_NAMES, SOURCE_THREAD, SOURCE_WATCH, SOURCE_STARTER, SOURCE_GUARD, SOURCE_LOG, SOURCE_LOG_ROOM, SOURCE_STATUS };

struct source {
    enum source_kind kind;
    int index;
};

enum { LOOP_EVENTS = 64 };

void loop_start(void);
bool loop_add(int fd, uint32_t events, struct source *source);
void loop_change(int fd, uint32_t events, struct source *source);
void loop_remove(int fd);

/* Waits until something is ready or a time has passed (CLOCK_MONOTONIC, ns; INT64_MAX: never): `limit`, when somebody should have
 * answered, and mostly has; or `due`, when there is something to do. Returns how many events it wrote. */
int loop_wait(struct epoll_event events[static LOOP_EVENTS], int64_t limit, int64_t due);

#endif
