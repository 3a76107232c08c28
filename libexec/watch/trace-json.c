#include "trace-json.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "client.h"
#include "version.h"

static const char *const names[SPAN_KINDS] = {
    [SPAN_JOB] = "job",         [SPAN_RUNNING] = "running",
    [SPAN_WAITING] = "waiting", [SPAN_THROTTLED] = "throttled",
    [SPAN_LOST] = "lost",       [MARK_REPLENISHED] = "replenished",
    [MARK_MISSED] = "missed",   [MARK_MIGRATED] = "migrated"};

/* ---- texts and numbers ---- */

/* Writes a user's text for the inside of a JSON string, in printable ASCII. */
static void write_text(const char *text, FILE *stream)
{
    char piece[CLIENT_PIECE];
    while (*text != '\0') {
        client_escape(&text, piece);
        for (const char *at = piece; *at != '\0'; at++) {
            if (*at == '"' || *at == '\\')
                fputc('\\', stream);
            fputc(*at, stream);
        }
    }
}

/* Writes a time in ns as us. */
static void write_time(const char *key, int64_t time, FILE *stream)
{
    fprintf(stream, ",\"%s\":%lld.%03d", key, (long long)(time / 1000), (int)(time % 1000));
}

/* ---- traceEvents ---- */

static void write_labels(const struct trace *trace, FILE *stream)
{
    for (size_t i = 0; i < trace->timeline->thread_count; i++) {
        const struct trace_label *label = &trace->labels[i];
        const int process = (int)label->process, tid = (int)trace->timeline->threads[i].tid;
        fprintf(
            stream,
            "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"",
            i == 0 ? "" : ",", process, tid);
        write_text(label->user, stream);
        fprintf(
            stream,
            "\"}},\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"",
            process, tid);
        write_text(label->name, stream);
        fputs(" (", stream);
        write_text(label->comm, stream);
        fputs(")\"}}", stream);
    }
}

static void write_arguments(const struct span *span, FILE *stream)
{
    fprintf(stream, ",\"args\":{\"cpu\":%u", (unsigned)span->cpu);
    if (span->job != 0)
        fprintf(stream, ",\"job\":%u", (unsigned)span->job);
    switch ((enum span_kind)span->kind) {
    case SPAN_JOB:
        if (span->value != 0) {
            write_time("deadline", span->value, stream);
            fprintf(stream, ",\"missed\":%s", span->to > span->value ? "true" : "false");
        }
        break;
    case SPAN_THROTTLED:
        if (span->value != 0)
            write_time("until", span->value, stream);
        break;
    case MARK_REPLENISHED:
        if (span->value != 0)
            write_time("deadline", span->value, stream);
        break;
    case SPAN_RUNNING:
        if (span->value != 0)
            fputs(",\"ordinary\":true", stream);
        break;
    case SPAN_WAITING:
    case SPAN_LOST:
    case MARK_MISSED:
    case MARK_MIGRATED:
    case SPAN_KINDS: break;
    }
    fputs("}}", stream);
}

static bool is_mark(const struct span *span)
{
    return span->kind >= MARK_REPLENISHED;
}

static void write_span(const struct trace *trace, const struct span *span, FILE *stream)
{
    fprintf(stream, ",\n{\"name\":\"%s\",\"cat\":\"rtf\",\"ph\":\"%s\",\"pid\":%d,\"tid\":%d",
            names[span->kind], is_mark(span) ? "i\",\"s\":\"t" : "X",
            (int)trace->labels[span->thread].process,
            (int)trace->timeline->threads[span->thread].tid);
    write_time("ts", span->from, stream);
    if (!is_mark(span))
        write_time("dur", span->to - span->from, stream);
    write_arguments(span, stream);
}

/* ---- systemTraceEvents ---- */

/* Writes a thread's name. Letters, digits and a few signs stay: a blank, a bracket or a colon would
 * end the name, or the line. */
static void write_comm(const struct trace *trace, pid_t thread, FILE *stream)
{
    char name[RECORDING_NAME] = "";
    if (thread == 0) {
        fputs(trace->none, stream);
        return;
    }
    recording_name(trace->recording, thread, name);
    if (name[0] == '\0')
        fputs("_", stream);
    for (const char *at = name; *at != '\0'; at++)
        fputc(isalnum((unsigned char)*at) || strchr("_-./+", *at) != NULL ? *at : '_', stream);
}

static const char *state_text(uint16_t state)
{
    static const char *const sleeping[] = {"S", "D", "T", "t", "X", "Z", "I", "I"};
    for (int bit = 0; bit < 8; bit++)
        if ((state & 1U << bit) != 0)
            return sleeping[bit];
    return state == 0 ? "R" : "R+";
}

/* Perfetto's parser takes exactly four characters of flags, although kernels since 6.2 print
 * five. */
static void write_begin(const struct trace *trace, const struct record *record, pid_t thread,
                        FILE *stream)
{
    write_comm(trace, thread, stream);
    fprintf(stream, "-%d (-----) [%03u] .... %lld.%09d: ", (int)thread, (unsigned)record->cpu,
            (long long)(record->time / 1000000000), (int)(record->time % 1000000000));
}

static void write_switch(const struct trace *trace, const struct record *record, FILE *stream)
{
    write_begin(trace, record, record->thread, stream);
    fputs("sched_switch: prev_comm=", stream);
    write_comm(trace, record->thread, stream);
    fprintf(stream, " prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=", (int)record->thread,
            record->priority, state_text(record->state));
    write_comm(trace, record->next, stream);
    fprintf(stream, " next_pid=%d next_prio=%d\\n", (int)record->next, record->next_priority);
}

static void write_system(const struct trace *trace, FILE *stream)
{
    fputs("# tracer: nop\\n", stream);
    for (size_t i = 0; i < trace->record_count; i++)
        if (trace->records[i].kind == RECORD_SWITCH)
            write_switch(trace, &trace->records[i], stream);
}

/* ---- otherData ---- */

static void write_thread(const struct traced *thread, const struct trace_label *label, FILE *stream)
{
    fputs("{\"user\":\"", stream);
    write_text(label->user, stream);
    fputs("\",\"name\":\"", stream);
    write_text(label->name, stream);
    fputs("\",\"comm\":\"", stream);
    write_text(label->comm, stream);
    fprintf(stream, "\",\"tid\":%d,\"pid\":%d", (int)thread->tid, (int)label->process);
    write_time("runtime", thread->runtime, stream);
    write_time("period", thread->period, stream);
    write_time("deadline", thread->deadline, stream);
    write_time("ran", thread->ran, stream);
    write_time("waited", thread->waited, stream);
    write_time("throttled", thread->throttled, stream);
    write_time("lost_time", thread->lost_time, stream);
    if (label->cpu_time >= 0)
        write_time("cpu_time", label->cpu_time, stream);
    fprintf(
        stream,
        ",\"throttles\":%u,\"replenishments\":%u,\"migrations\":%u,\"jobs\":%u,\"missed\":%u,\"lost\":%u}",
        (unsigned)thread->throttles, (unsigned)thread->replenishments, (unsigned)thread->migrations,
        (unsigned)thread->jobs, (unsigned)thread->missed, (unsigned)thread->lost);
}

static void write_other(const struct trace *trace, FILE *stream)
{
    const struct timeline *timeline = trace->timeline;
    fprintf(stream, "{\"program\":\"rtf trace " RTF_VERSION "\",\"clock\":\"CLOCK_MONOTONIC, us\"");
    write_time("begin", timeline->begin, stream);
    write_time("end", timeline->end, stream);
    fputs(",\"reservations\":[", stream);
    for (size_t i = 0; i < timeline->thread_count; i++) {
        fputs(i == 0 ? "\n" : ",\n", stream);
        write_thread(&timeline->threads[i], &trace->labels[i], stream);
    }
    fputs("],\"cpus\":[", stream);
    for (unsigned cpu = 0; cpu < timeline->cpus; cpu++)
        fprintf(stream, "%s\n{\"cpu\":%u,\"lost\":%llu,\"dropped\":%llu}", cpu == 0 ? "" : ",", cpu,
                (unsigned long long)timeline->gaps[cpu],
                (unsigned long long)recording_dropped(trace->recording, cpu));
    fputs("]}", stream);
}

void trace_json_write(const struct trace *trace, FILE *stream)
{
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", stream);
    write_labels(trace, stream);
    for (size_t i = 0; i < trace->timeline->span_count; i++)
        write_span(trace, &trace->timeline->spans[i], stream);
    fputs("\n],\"systemTraceEvents\":\"", stream);
    write_system(trace, stream);
    fputs("\",\"otherData\":", stream);
    write_other(trace, stream);
    fputs("}\n", stream);
}
