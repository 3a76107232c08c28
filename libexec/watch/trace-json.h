/* Writes a timeline as JSON in Chrome's trace format, which Perfetto opens: traceEvents has the
 * reserved threads, systemTraceEvents has the threads that ran on each CPU.
 *
 * Perfetto's reader is stricter than JSON. It knows only the escapes \n, \" and \\, and not \u. It
 * refuses the whole file if it cannot read a line of systemTraceEvents. After a key that it does
 * not know, it ignores the rest of the file. */
#ifndef RTF_WATCH_TRACE_JSON_H
#define RTF_WATCH_TRACE_JSON_H

#include <stdio.h>
#include <sys/types.h>

#include "recording.h"
#include "timeline.h"

/* The labels of a thread for the readers of a trace. */
struct trace_label {
    const char *user, *name; /* the owner and the name of the reservation */
    const char *comm;        /* the name of the thread: any bytes */
    pid_t process;
    int64_t cpu_time; /* CPU time by the kernel's count during the trace, ns; -1: not known */
};

struct trace {
    const struct timeline *timeline;
    const struct trace_label *labels; /* one for each thread of the timeline */
    const struct record *records;
    size_t record_count;
    const struct recording
        *recording;   /* the threads' names, and the kernel's count of lost events */
    const char *none; /* the name of the thread 0 */
};

/* The caller checks ferror(stream). */
void trace_json_write(const struct trace *trace, FILE *stream);

#endif
