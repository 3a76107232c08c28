#include "trace-gantt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

enum { LABEL = 24, CELLS_LEAST = 20, CELLS_MOST = 4096, PERIODS = 5 };

struct trace_window trace_window(const struct timeline *timeline, int64_t span)
{
    int64_t longest = 0;
    for (size_t i = 0; i < timeline->thread_count; i++)
        if (timeline->threads[i].period > longest)
            longest = timeline->threads[i].period;
    if (span == 0)
        span = PERIODS * longest;
    const int64_t all = timeline->end - timeline->begin;
    return (struct trace_window){timeline->begin,
                                 timeline->begin + (span > 0 && span < all ? span : all)};
}

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

static int64_t earlier(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static char *label_of(const struct trace *trace, size_t thread, char text[static 1024])
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s", trace->labels[thread].user, trace->labels[thread].name);
    return client_printable(name, text, 1024);
}

/* ---- for a terminal ---- */

/* One character of the drawing stands for some time. A cell tells for how much of this time the
 * thread ran, was throttled, and so on. */
struct cell {
    int64_t ran, throttled, waited, lost;
    char mark; /* 0: none */
};

struct row {
    struct cell cells[CELLS_MOST];
    unsigned count;
    struct trace_window window;
    bool has_marks;
};

static int64_t cell_begin(const struct row *row, unsigned cell)
{
    return row->window.from + (row->window.to - row->window.from) * cell / row->count;
}

static unsigned cell_at(const struct row *row, int64_t time)
{
    const int64_t length = row->window.to - row->window.from;
    const int64_t cell = (time - row->window.from) * row->count / (length > 0 ? length : 1);
    return cell >= row->count ? row->count - 1 : (unsigned)cell;
}

static int64_t *part(struct cell *cell, enum span_kind kind)
{
    switch (kind) {
    case SPAN_RUNNING: return &cell->ran;
    case SPAN_THROTTLED: return &cell->throttled;
    case SPAN_WAITING: return &cell->waited;
    case SPAN_LOST: return &cell->lost;
    case SPAN_JOB:
    case MARK_REPLENISHED:
    case MARK_MISSED:
    case MARK_MIGRATED:
    case SPAN_KINDS: break;
    }
    return NULL;
}

static void add_span(struct row *row, const struct span *span)
{
    const int64_t from = later(span->from, row->window.from),
                  to = earlier(span->to, row->window.to);
    for (unsigned i = cell_at(row, from); from < to && i < row->count; i++) {
        const int64_t begin = later(cell_begin(row, i), from),
                      end = earlier(cell_begin(row, i + 1), to);
        int64_t *time = part(&row->cells[i], span->kind);
        if (begin >= to)
            return;
        if (time != NULL && end > begin)
            *time += end - begin;
    }
}

static void add_mark(struct row *row, const struct span *span)
{
    struct cell *cell = &row->cells[cell_at(row, span->from)];
    if (span->from < row->window.from || span->from >= row->window.to)
        return;
    if (span->kind == MARK_MISSED)
        cell->mark = '!';
    else if (span->kind == MARK_REPLENISHED && cell->mark == 0)
        cell->mark = '^';
    row->has_marks |= cell->mark != 0;
}

static char cell_sign(const struct cell *cell)
{
    const int64_t all = cell->ran + cell->throttled + cell->waited + cell->lost;
    if (cell->lost > 0)
        return '?';
    if (cell->ran > 0)
        return cell->ran * 2 >= all ? '#' : '+';
    if (all == 0)
        return ' ';
    return cell->throttled >= cell->waited ? '-' : '.';
}

static void write_row(const struct trace *trace, size_t thread, const struct row *row, FILE *stream)
{
    char text[1024];
    fprintf(stream, "%-*.*s |", LABEL, LABEL, label_of(trace, thread, text));
    for (unsigned i = 0; i < row->count; i++)
        fputc(cell_sign(&row->cells[i]), stream);
    fputs("|\n", stream);
    if (!row->has_marks)
        return;
    fprintf(stream, "%*s  ", LABEL, "");
    for (unsigned i = 0; i < row->count; i++)
        fputc(row->cells[i].mark == 0 ? ' ' : row->cells[i].mark, stream);
    fputs("\n", stream);
}

void trace_gantt_write(const struct trace *trace, struct trace_window window, unsigned columns,
                       FILE *stream)
{
    const struct timeline *timeline = trace->timeline;
    struct row *row = malloc(sizeof *row);
    const int64_t length = (window.to - window.from) / 1000;
    if (row == NULL)
        return;
    unsigned count = columns < LABEL + 3 + CELLS_LEAST ? CELLS_LEAST : columns - LABEL - 3;
    count = count > CELLS_MOST ? CELLS_MOST : count;
    fprintf(stream, "%-*s |%-*s%*lld.%03d ms|\n", LABEL, "", (int)count / 2, "0",
            (int)(count - count / 2) - 7, (long long)(length / 1000), (int)(length % 1000));
    for (size_t i = 0; i < timeline->thread_count; i++) {
        *row = (struct row){.count = count, .window = window};
        for (size_t j = 0; j < timeline->span_count; j++)
            if (timeline->spans[j].thread == i) {
                add_span(row, &timeline->spans[j]);
                add_mark(row, &timeline->spans[j]);
            }
        write_row(trace, i, row, stream);
    }
    free(row);
}

/* ---- for gnuplot ---- */

static const struct {
    enum span_kind kind;
    const char *name, *colour, *block;
    int low, high; /* the height of the boxes, in hundredths of a line */
} boxes[] = {{SPAN_RUNNING, "runs", "#3465a4", "$runs", 10, 60},
             {SPAN_WAITING, "waits", "#fcaf3e", "$waits", 10, 30},
             {SPAN_THROTTLED, "throttled", "#d3d7cf", "$throttled", 10, 20},
             {SPAN_LOST, "lost", "#cc0000", "$lost", 10, 30}};
enum { BOXES = sizeof boxes / sizeof *boxes, HUNDRED = 100 };

/* Writes the time in ms since the beginning of the window. */
static void write_time(int64_t time, struct trace_window window, FILE *stream)
{
    const int64_t since = (time - window.from) / 1000;
    fprintf(stream, "%lld.%03d ", (long long)(since / 1000), (int)(since % 1000));
}

/* Returns where the line of the thread is in the drawing, in hundredths of a line from the bottom:
 * the first thread is on top. */
static long long line_of(const struct trace *trace, size_t thread)
{
    return (long long)(trace->timeline->thread_count - 1 - thread) * HUNDRED;
}

/* Writes the rows FROM TO LINE of one kind, at least one row, because gnuplot takes no empty
 * block. */
static void write_block(const struct trace *trace, struct trace_window window, int box,
                        FILE *stream)
{
    fprintf(stream, "%s << END\n-1 -1 -1000\n", boxes[box].block);
    for (size_t i = 0; i < trace->timeline->span_count; i++) {
        const struct span *span = &trace->timeline->spans[i];
        if (span->kind != boxes[box].kind || span->to <= window.from || span->from >= window.to)
            continue;
        write_time(later(span->from, window.from), window, stream);
        write_time(earlier(span->to, window.to), window, stream);
        fprintf(stream, "%lld\n", line_of(trace, span->thread));
    }
    fputs("END\n", stream);
}

static void write_marks(const struct trace *trace, struct trace_window window, enum span_kind kind,
                        const char *block, FILE *stream)
{
    fprintf(stream, "%s << END\n-1 -1000\n", block);
    for (size_t i = 0; i < trace->timeline->span_count; i++) {
        const struct span *span = &trace->timeline->spans[i];
        if (span->kind != kind || span->from < window.from || span->from >= window.to)
            continue;
        write_time(span->from, window, stream);
        fprintf(stream, "%lld\n", line_of(trace, span->thread));
    }
    fputs("END\n", stream);
}

/* Replaces quotes and backquotes in a label, because gnuplot would run a command in backquotes
 * outside of single quotes. */
static void write_label(const struct trace *trace, size_t thread, FILE *stream)
{
    char text[1024];
    fputs(thread == 0 ? "'" : ", '", stream);
    for (const char *at = label_of(trace, thread, text); *at != '\0'; at++)
        fputc(*at == '\'' || *at == '`' || *at == '\\' ? '?' : *at, stream);
    fprintf(stream, "' %lld", line_of(trace, thread) + HUNDRED / 3);
}

void trace_plot_write(const struct trace *trace, struct trace_window window, FILE *stream)
{
    const size_t count = trace->timeline->thread_count;
    for (int box = 0; box < BOXES; box++)
        write_block(trace, window, box, stream);
    write_marks(trace, window, MARK_REPLENISHED, "$replenished", stream);
    write_marks(trace, window, MARK_MISSED, "$missed", stream);
    fprintf(stream,
            "set terminal svg size 1000,%zu noenhanced background '#ffffff'\n"
            "set xlabel 'time (ms)'\nset xrange [0:",
            120 + 60 * count);
    write_time(window.to, window, stream);
    fprintf(stream, "]\nset yrange [0:%zu]\nset ytics (", HUNDRED * count);
    for (size_t i = 0; i < count; i++)
        write_label(trace, i, stream);
    fputs(")\nset key outside top center horizontal\nset style fill solid noborder\nplot ", stream);
    for (int box = 0; box < BOXES; box++)
        fprintf(
            stream,
            "%s using (($1+$2)/2):3:1:2:($3+%d):($3+%d) with boxxyerror linecolor rgb '%s' title '%s', ",
            boxes[box].block, boxes[box].low, boxes[box].high, boxes[box].colour, boxes[box].name);
    fputs(
        "$replenished using 1:2:(0):(85) with vectors filled linecolor rgb '#4e9a06' title 'replenished', "
        "$missed using 1:($2+75) with points pointtype 2 linecolor rgb '#cc0000' title 'missed'\n",
        stream);
}
