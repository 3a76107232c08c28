/* Draws a part of a timeline for a terminal, and for gnuplot. */
#ifndef RTF_WATCH_TRACE_GANTT_H
#define RTF_WATCH_TRACE_GANTT_H

#include <stdint.h>
#include <stdio.h>

#include "trace-json.h"

struct trace_window {
    int64_t from, to; /* ns, CLOCK_MONOTONIC */
};

/* Returns the window from the beginning of the recording on. span: its length, ns; 0: five of the
 * longest periods. */
struct trace_window trace_window(const struct timeline *timeline, int64_t span);

/* Draws a line for each thread: # runs, + runs a part of the time, - throttled, . waits, ? lost. If
 * the thread has marks, a line below shows them: ^ replenished, ! missed. columns: the width of the
 * terminal. */
void trace_gantt_write(const struct trace *trace, struct trace_window window, unsigned columns,
                       FILE *stream);

/* Writes commands for gnuplot. With them gnuplot draws the same picture as SVG, and writes it to
 * its standard output. */
void trace_plot_write(const struct trace *trace, struct trace_window window, FILE *stream);

#endif
