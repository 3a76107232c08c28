/* Chooses the reservations that rtf-trace(1) and rtf-why(1) look at: reservations that have a
 * thread. Root reads them from the broker's journal, and a user from the user's own verdicts. */
#ifndef RTF_TRACE_CHOSEN_H
#define RTF_TRACE_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "watch/timeline.h"
#include "watch/trace-json.h"

struct chosen_wish {
    const char *user; /* only reservations in this directory; NULL: reservations of all users */
    char *const *patterns; /* shell patterns of names, which end with NULL; no pattern: all names */
};

/* The chosen threads, and their labels in the same order. Both arrays are sorted by thread id, as
 * the timeline needs them. */
struct chosen {
    size_t count;
    struct traced *threads;
    struct trace_label *labels;
};

/* Reads the journal in the open spool. False: only root can read it. Memory is never freed. */
bool chosen_read(int root, const struct chosen_wish *wish, struct chosen *chosen);

/* Reads the reservations of a user from the verdicts in the user's own directory, which the client
 * has entered. */
struct client;
void chosen_read_own(const struct client *client, const struct chosen_wish *wish,
                     struct chosen *chosen);

/* Reads the CPU time of a thread, ns, as the kernel counts it. -1: the thread has ended. */
int64_t chosen_cpu_time(pid_t tid);

#endif
