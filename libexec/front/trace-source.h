/* Where rtf-trace(1) and rtf-why(1) get their records from: root from the kernel, a user from the broker, which
 * passes on what rtf-watch sends (lib/watch-stream.h). */
#ifndef RTF_TRACE_SOURCE_H
#define RTF_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace-chosen.h"
#include "watch/recorder.h"

struct trace_source {
    struct recorder *recorder; /* NULL: the source is a user's */
    int socket;
    bool has_ended;
    bool knows_timers;
    unsigned causes; /* that the records tell: enum events_causes */
    struct recording *recording;
    pid_t threads[512]; /* that rtf-watch traces */
    size_t thread_count;
    int64_t begin, end;
};

/* These functions end the process if they fail. trace_source_user connects to the socket of the
 * open spool, and begins to record at once. causes: also record what tells causes. */
void trace_source_root(struct trace_source *source, const struct chosen *chosen, bool keep_pages,
                       bool causes);
void trace_source_user(struct trace_source *source, int root, bool causes);

/* Begin and end of the recording, ns of CLOCK_MONOTONIC. */
int64_t trace_source_start(struct trace_source *source);
int64_t trace_source_stop(struct trace_source *source);

/* A descriptor for poll(2); if it is readable, call trace_source_drain. False: there is no room for
 * more records. */
int trace_source_descriptor(const struct trace_source *source);
bool trace_source_drain(struct trace_source *source);

bool trace_source_traces(const struct trace_source *source, pid_t thread);
void trace_source_close(struct trace_source *source);

#endif
