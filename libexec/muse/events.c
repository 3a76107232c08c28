#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILTER_MOST = 3500 };

/* more than a century of uptime; the sum of two times below this, in ns, fits into an int64_t */
#define LAST_SECOND 4000000000LL

/* ---- lines ---- */

struct change {
    int64_t time; /* ns */
    uint16_t cpu;
    long from, to; /* thread ids */
    char state;    /* the state of the thread `from`; R: still runnable */
};

/* Parses a line of the form " name-123 [001] d..2. 5123.456789: sched_switch: prev_comm=...
 * prev_pid=1 prev_prio=2 prev_state=S ==> next_comm=... next_pid=3 ...". A thread's name may have
 * any text, even the text of these keys. So if a key occurs several times, the last occurrence
 * counts: the last before the arrow for prev_*, and the last in the line for next_*. */
static bool parse_change(const char *line, struct change *change)
{
    const char *event = strstr(line, ": sched_switch: "),
               *arrow = event == NULL ? NULL : strstr(event, " ==> ");
    const char *cpu = event, *time = event, *from = NULL, *state = NULL;
    long long seconds = 0;
    long micros = 0;
    if (arrow == NULL)
        return false;
    while (cpu > line && *cpu != '[')
        cpu--;
    for (const char *at = strstr(event, " prev_pid="); at != NULL && at < arrow;
         at = strstr(at + 1, " prev_pid="))
        from = at;
    for (const char *at = strstr(event, " prev_state="); at != NULL && at < arrow;
         at = strstr(at + 1, " prev_state="))
        state = at;
    const char *to = strstr(arrow, " next_pid=");
    while (to != NULL && strstr(to + 1, " next_pid=") != NULL)
        to = strstr(to + 1, " next_pid=");
    while (time > line && time[-1] != ' ')
        time--;
    if (from == NULL || state == NULL || to == NULL ||
        sscanf(time, "%lld.%6ld", &seconds, &micros) != 2)
        return false;
    if (seconds < 0 || seconds > LAST_SECOND || micros < 0)
        return false;
    change->time = seconds * 1000000000 + micros * 1000;
    change->cpu = (uint16_t)strtoul(cpu + 1, NULL, 10);
    change->from = strtol(from + 10, NULL, 10);
    change->to = strtol(to + 10, NULL, 10);
    change->state = state[12];
    return true;
}

bool events_supply(struct followed *followed, int64_t until, int64_t start, take_mark *take,
                   void *argument)
{
    int64_t begun = followed->since < start ? start : followed->since;
    if (until <= begun)
        return true;
    while ((int64_t)followed->jobs * COMMAND_QUANTUM < followed->supplied + (until - begun)) {
        int64_t at = begun + ((int64_t)followed->jobs * COMMAND_QUANTUM - followed->supplied);
        if (!take(argument,
                  (struct mark){at - start, followed->jobs, followed->cpu, followed->thread}))
            return false;
        followed->jobs++;
    }
    followed->supplied += until - begun;
    return true;
}

bool events_take_line(const char *line, struct followed *followed, int64_t start, take_mark *take,
                      void *argument)
{
    struct change change;
    if (start == 0)
        start = INT64_MAX;
    /* A line with a time before the last event does not belong to this trace. Without this check,
     * the sum of CPU times could exceed the time that has passed. */

    if (!parse_change(line, &change) || change.time < followed->last)
        return true;
    followed->last = change.time;
    if (change.from == followed->tid) {
        bool good =
            !followed->running || events_supply(followed, change.time, start, take, argument);
        followed->gaps += !followed->running && change.time >= start;
        followed->running = false;
        followed->sleeps = change.state != 'R';
        followed->asleep_since = change.time;
        return good;
    }
    if (change.to == followed->tid) {
        followed->gaps += followed->running && change.time >= start;
        followed->running = true;
        followed->since = change.time;
        followed->cpu = change.cpu;
        if (followed->sleeps && followed->asleep_since >= start)
            followed->asleep += change.time - followed->asleep_since;
        followed->sleeps = false;
    }
    return true;
}

/* ---- tracefs ---- */

static bool set_filter(const struct events *events, const pid_t *tids, size_t count)
{
    char filter[FILTER_MOST + 64] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < FILTER_MOST; i++)
        used += (size_t)snprintf(filter + used, sizeof filter - used,
                                 "%sprev_pid == %d || next_pid == %d", i == 0 ? "" : " || ",
                                 (int)tids[i], (int)tids[i]);
    return used < FILTER_MOST &&
           instance_put(&events->instance, "events/sched/sched_switch/filter", filter);
}

bool events_open(const pid_t *tids, size_t count, struct events *events,
                 char why[static EVENTS_WHY])
{
    *events = (struct events){.pipe = -1};
    if (!instance_make(&events->instance, -1)) {
        snprintf(
            why, EVENTS_WHY,
            "a command is measured by the scheduler's events in tracefs, which only root can read: %s",
            strerror(errno));
        return false;
    }
    bool good = instance_put(&events->instance, "trace_clock", "mono") &&
                instance_put(&events->instance, "buffer_size_kb", "4096") &&
                set_filter(events, tids, count) &&
                instance_put(&events->instance, "events/sched/sched_switch/enable", "1");
    events->pipe =
        good ? instance_open(&events->instance, "trace_pipe", O_RDONLY | O_NONBLOCK) : -1;
    if (events->pipe >= 0)
        return true;
    snprintf(why, EVENTS_WHY, "the scheduler's events cannot be switched on: %s", strerror(errno));
    events_close(events);
    return false;
}

bool events_drain(struct events *events, struct followed *followed, size_t count, int64_t start,
                  take_mark *take, void *argument)
{
    ssize_t got;
    bool good = true;
    while (good && (got = read(events->pipe, events->held + events->length,
                               sizeof events->held - 1 - events->length)) > 0) {
        events->length += (size_t)got;
        events->held[events->length] = '\0';
        char *line = events->held;
        for (char *end = strchr(line, '\n'); good && end != NULL;
             line = end + 1, end = strchr(line, '\n')) {
            *end = '\0';
            for (size_t i = 0; good && i < count; i++)
                good = events_take_line(line, &followed[i], start, take, argument);
        }
        events->length -= (size_t)(line - events->held);
        memmove(events->held, line, events->length);
        /* a line that fills the buffer is too long to be an event */
        if (events->length == sizeof events->held - 1)
            events->length = 0;
    }
    return good;
}

void events_close(struct events *events)
{
    if (events->pipe >= 0)
        close(events->pipe);
    events->pipe = -1;
    instance_remove(&events->instance);
}
