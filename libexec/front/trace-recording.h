/* A recording from its beginning to its end, for rtf-trace(1) and rtf-why(1). */
#ifndef RTF_TRACE_RECORDING_H
#define RTF_TRACE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "trace-chosen.h"
#include "trace-source.h"

struct trace_wish {
    char *const *patterns; /* as in struct chosen_wish */
    /* only for root. user NULL and not all: the threads of the user who runs this process */
    const char *user;
    bool all;
    /* for messages: the options with which root chooses the threads of other users */
    const char *more;
    bool keep_pages; /* only for root: as for recorder_keep_pages */
    bool causes;     /* also record the events that tell why jobs are late */
    /* Called with the chosen threads while the spool is open. Not called if root runs this process.
     * NULL: no call. */
    void (*look)(const struct client *client, const struct chosen *chosen);
};

/* Chooses the threads, and prepares their recording. Ends the process if this fails, or if there are
 * no threads. */
struct chosen trace_begin(const struct trace_wish *wish, struct trace_source *source);

/* A descriptor that trace_record watches besides the recording: when it is readable, trace_record
 * calls `ready`. */
struct trace_beside {
    int fd; /* -1: none */
    void (*ready)(void);
};

/* Records for the duration, us. A signal (request/end-signals.h) ends the recording early. beside:
 * NULL if there is no other descriptor. */
void trace_record(struct trace_source *source, uint64_t duration, int signals,
                  const struct trace_beside *beside);

#endif
