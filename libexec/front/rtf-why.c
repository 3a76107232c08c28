/* rtf-why(1): records what the scheduler does with reserved threads, and says why jobs were late.
 *
 * Names of threads and reservations are other users' text; all that is printed goes through
 * client_printable. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "request/end-signals.h"
#include "tick.h"
#include "trace-recording.h"
#include "watch/awake.h"
#include "watch/trace-events.h"
#include "why-marks.h"
#include "why-print.h"

static struct {
    const char *user;
    bool last, json, awake;
    uint64_t duration; /* us */
} options = {.duration = 10000000};

/* ---- the command line ---- */

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "for") == 0)
        options.duration = command_wait("--for", value);
    else if (strcmp(name, "user") == 0)
        options.user = value;
    else if (strcmp(name, "last") == 0)
        options.last = true;
    else if (strcmp(name, "json") == 0)
        options.json = true;
    else if (strcmp(name, "awake") == 0)
        options.awake = true;
}

static const struct command_option option_table[] = {
    {0, "for", "TIME", "Record for this time: 500ms, 1min (default: 10s)"},
    {0, "last", NULL, "Explain only the latest late job of each thread"},
    {0, "json", NULL, "Print a JSON object for each late job"},
    {0, "user", "USER", "Explain jobs of that user"},
    {0, "awake", NULL, "Keep the CPUs from idling: some machines lose events of idle CPUs"},
    {0}};

/* ---- recording ---- */

static struct timeline record_all(struct trace_source *source, const struct chosen *chosen)
{
    struct timeline timeline = {.threads = chosen->threads,
                                .thread_count = chosen->count,
                                .cpus = recording_cpus(source->recording)};
    const struct trace_beside marks = {why_marks_descriptor(), why_marks_read};
    const int signals = end_signals_open(); /* before other threads start */
    if (options.awake && !awake_begin())
        command_say("cannot keep all CPUs from idling: %s", strerror(errno));
    timeline.begin = trace_source_start(source);
    trace_record(source, options.duration, signals, &marks);
    timeline.end = trace_source_stop(source);
    why_marks_close();
    awake_end();
    end_signals_close(signals);
    return timeline;
}

/* ---- what cannot be told ---- */

static void tell_limits(const struct trace_source *source)
{
    if (!source->knows_timers)
        command_say("the kernel hides its addresses (kernel.kptr_restrict), so throttles cannot "
                    "be told from other waits");
    if ((source->causes & EVENTS_CALLS) == 0)
        command_say("the kernel does not record system calls, so each sleep ends a job, and locks "
                    "and page faults do not show up as causes");
    if ((source->causes & EVENTS_INTERRUPTS) == 0)
        command_say("the kernel does not record interrupts: their time counts as the thread's own");
    if ((source->causes & EVENTS_TICKS) == 0)
        command_say("the kernel does not record ticks: time that the host takes while a thread has "
                    "a CPU counts as the thread's own");
}

static bool has_dropped(const struct trace_source *source)
{
    uint64_t dropped = 0;
    for (unsigned cpu = 0; cpu < recording_cpus(source->recording); cpu++)
        dropped += recording_dropped(source->recording, cpu);
    if (dropped > 0)
        command_say(
            "the kernel has lost events: %llu times a buffer was full, so no cause is known",
            (unsigned long long)dropped);
    return dropped > 0;
}

/* ---- causes ---- */

static void no_memory(void)
{
    command_fail(EX_OSERR, "no memory");
}

/* Returns the whole recording as one job. This is for a thread that never pauses, and so has no
 * jobs. */
static const struct job *all_of_it(const struct timeline *timeline, const struct traced *thread,
                                   size_t *count)
{
    static struct job job;
    job = (struct job){timeline->begin, timeline->end, why_deadline(thread), true};
    *count = 1;
    return &job;
}

/* Makes CAUSE_NOT_KNOWN the first cause of each job. The kernel has lost events and does not say
 * when, so any other cause may be wrong. */
static void forget_causes(struct explained_job *late, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (late[i].order[at] != CAUSE_NOT_KNOWN)
            at++;
        for (; at > 0; at--)
            late[i].order[at] = late[i].order[at - 1];
        late[i].order[0] = CAUSE_NOT_KNOWN;
    }
}

static void print_late(const struct why_thread *why)
{
    for (size_t i = options.last && why->late_count > 0 ? why->late_count - 1 : 0;
         i < why->late_count; i++)
        if (options.json)
            why_print_json(why, &why->late[i]);
        else
            why_print_job(why, &why->late[i]);
    if (!options.json)
        why_print_summary(why);
}

static void explain(const struct stretches_source *source, const struct trace_label *label,
                    const struct recording *recording, bool has_dropped)
{
    const struct traced *thread = &source->timeline->threads[source->thread];
    struct stretches stretches;
    struct explained_job *late;
    struct job *found = NULL;
    size_t count, late_count;
    bool never_pauses = false;
    if (!stretches_build(source, &stretches))
        no_memory();
    const struct job *jobs = why_marks_jobs(source->thread, &count);
    if (jobs == NULL && !jobs_find(&stretches, why_deadline(thread), &found, &count))
        no_memory();
    if (jobs == NULL)
        jobs = found;
    never_pauses = count == 0 && thread->ran > 0;
    if (never_pauses)
        jobs = all_of_it(source->timeline, thread, &count);
    if (!lateness_explain(&stretches, jobs, count, thread->runtime, &late, &late_count))
        no_memory();
    if (has_dropped)
        forget_causes(late, late_count);
    const struct why_thread why = {thread, label, recording, late, late_count, count, never_pauses};
    print_late(&why);
    free(late);
    free(found);
    stretches_free(&stretches);
}

static void explain_all(struct trace_source *source, const struct chosen *chosen,
                        struct timeline *timeline)
{
    struct stretches_source from = {.timeline = timeline,
                                    .sees_all = source->recorder != NULL,
                                    .has_faults = (source->causes & EVENTS_FAULTS) != 0,
                                    .tick = (source->causes & EVENTS_TICKS) != 0
                                                ? (int64_t)tick_length() * 1000
                                                : 0};
    const bool dropped = has_dropped(source);
    from.records = recording_records(source->recording, &from.count);
    if (from.records == NULL || !timeline_build(timeline, from.records, from.count))
        no_memory();
    for (from.thread = 0; from.thread < timeline->thread_count; from.thread++)
        if (why_deadline(&timeline->threads[from.thread]) > 0)
            explain(&from, &chosen->labels[from.thread], source->recording, dropped);
}

/* Ends the process if no chosen reservation has a period or a deadline, because without one no job
 * can be late. */
static void require_deadline(const struct chosen *chosen)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (why_deadline(&chosen->threads[i]) > 0)
            return;
    command_fail(EX_NOINPUT, "no reservation of this name has a period or a deadline");
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "why",
        .about = "Record what reserved threads wait for, and say why jobs were late.",
        .operands = "[NAME...]",
        .options = option_table,
        .take = take};
    char **patterns = command_parse(&command, argc, argv, NULL);
    const struct trace_wish wish = {.patterns = patterns,
                                    .user = options.user,
                                    .more = "--user USER means the threads of that user",
                                    .causes = true,
                                    .look = why_marks_open};
    if (geteuid() != 0 && options.user != NULL)
        command_fail(EX_NOPERM, "only root may look at the threads of other users");
    struct trace_source source;
    struct chosen chosen = trace_begin(&wish, &source);
    tell_limits(&source);
    require_deadline(&chosen);
    struct timeline timeline = record_all(&source, &chosen);
    explain_all(&source, &chosen, &timeline);
    timeline_free(&timeline);
    trace_source_close(&source);
    if (!command_is_written())
        command_unwritten();
    return EX_OK;
}
