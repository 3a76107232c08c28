/* The source of the records for rtf-trace(1) and rtf-why(1). Root gets the records from the kernel.
 * A user gets them over a socket of the broker from rtf-watch (lib/watch-stream.h). */
#ifndef RTF_TRACE_SOURCE_H
#define RTF_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace-chosen.h"
#include "watch/recorder.h"

struct trace_source {
    /* root's recorder; NULL: a user runs this process, and the records come over `socket` */
    struct recorder *recorder;
    int socket;
    bool has_ended;
    bool knows_timers;
    unsigned causes; /* the causes of lateness that the records can tell (enum events_causes) */
    struct recording *recording;
    pid_t threads[512]; /* the threads that rtf-watch traces */
    size_t thread_count;
    int64_t begin, end;
};

/* These functions end the process if they fail. trace_source_user connects to the socket of the
 * open spool, and begins to record at once. causes: also record the events that tell why jobs are
 * late. */
void trace_source_root(struct trace_source *source, const struct chosen *chosen, bool keep_pages,
                       bool causes);
void trace_source_user(struct trace_source *source, int root, bool causes);

/* Start and stop the recording. Each returns the time, ns of CLOCK_MONOTONIC. */
int64_t trace_source_start(struct trace_source *source);
int64_t trace_source_stop(struct trace_source *source);

/* trace_source_descriptor returns a descriptor for poll(2). If it is readable, call
 * trace_source_drain, which takes the new records. False: there is no room for more records. */
int trace_source_descriptor(const struct trace_source *source);
bool trace_source_drain(struct trace_source *source);

bool trace_source_traces(const struct trace_source *source, pid_t thread);
void trace_source_close(struct trace_source *source);

#endif
