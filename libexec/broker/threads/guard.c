#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "event.h"
#include "guard/promotions.h"
#include "resource-cpu.h"
#include "transient.h"
#include "plugin-lines.h"
#include "spec.h"
#include "supervise.h"
#include "tracepoint.h"
#include "units.h"

static const int64_t answer_within = INT64_C(1000000000); /* ns */

/* Events of the guard that have not been passed on yet. Some may have come while the broker waited
 * for another answer. */
struct told {
    STAILQ_ENTRY(told) next;
    struct guard_event event;
};

static void guard_pass_on(struct timer *timer);

static struct {
    struct program program;
    const struct guard_listener *listener;
    STAILQ_HEAD(, told) told;
    /* passes on the events that came while the broker waited for an answer */
    struct timer news;
    struct paragraph_output output; /* the message that is being made */
    uint64_t last_id, answered;
    int promotions; /* the pipe for guard_expect, which the guard reads; -1: there is no pipe */
    /* the last order about the guard's own rank (libexec/guard/guard-rank.h) */
    enum { RANK_NOT_YET, RANK_HAS_RISEN, RANK_HAS_YIELDED } rank;
} guard = {.told = STAILQ_HEAD_INITIALIZER(guard.told),
           .news.due = guard_pass_on,
           .promotions = -1};

/* ---- messages to the guard ---- */

static struct paragraph_output *guard_message(const char *op)
{
    struct paragraph_output *output = &guard.output;
    output->length = 0;
    paragraph_add(output, "op", op);
    paragraph_add_number(output, "id", ++guard.last_id);
    return output;
}

/* Sends a message. If the socket is full, the broker waits. The wait is short, because the guard
 * runs at a higher priority than the broker, and reads at once. */
static bool guard_send(struct paragraph_output *output, const int *fds, int count)
{
    struct coprocess *process = &guard.program.process;
    const int64_t until = monotonic_now() + answer_within;
    paragraph_close(output);
    while (supervise_runs(&guard.program) &&
           !coprocess_send_fds(process, output->data, output->length, fds, count)) {
        struct pollfd room = {.fd = process->out, .events = POLLOUT};
        if (!is_transient(errno) || monotonic_now() > until ||
            (poll(&room, 1, 100) < 0 && errno != EINTR))
            supervise_fail(&guard.program, "it does not read its input");
    }
    return supervise_runs(&guard.program);
}

static bool guard_listen(void)
{
    int ends[2];
    if (guard.promotions >= 0)
        close(guard.promotions);
    guard.promotions = -1;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    guard.promotions = ends[1];
    const bool sent = guard_send(guard_message("listen"), &ends[0], 1);
    close(ends[0]);
    return sent;
}

static void guard_name(struct paragraph_output *output, pid_t tid, uint64_t started_by)
{
    paragraph_add_number(output, "tid", (uint64_t)tid);
    paragraph_add_number(output, "started_by", started_by);
}

/* The least runtime and period that the guard enforces. With shorter times, the guard itself would
 * use a large part of the CPU. */
static const uint64_t least_runtime = 100, least_window = 1000; /* us */

bool guard_can_enforce(int plugin, const struct spec *spec, uint64_t *least,
                       char reason[static REASON_BYTES])
{
    const uint64_t window = spec->period != 0 ? spec->period : spec_window(spec);
    *least = 0;
    if (spec->budget_process && !plugin_line(plugin)->whole) {
        snprintf(
            reason, REASON_BYTES,
            "the plugin enforces no runtimes of whole processes: its line of plugins.conf has no enforce=process");
        return false;
    }
    if (!plugin_line(plugin)->enforced)
        return true;
    if (spec->runtime != 0 && window >= least_window)
        *least = least_runtime;
    if (spec->runtime == 0 || window == 0)
        snprintf(reason, REASON_BYTES,
                 "the plugin enforces runtimes: state \"runtime\", and \"period\" or \"deadline\"");
    else if (spec->runtime < least_runtime || window < least_window)
        snprintf(
            reason, REASON_BYTES,
            "the plugin enforces runtimes: the runtime must be at least %lluus, and the period or deadline at least %lluus",
            (unsigned long long)least_runtime, (unsigned long long)least_window);
    else
        return true;
    return false;
}

static void send_begin(const struct attachment *attachment, const struct grant *grant, int event,
                       bool again)
{
    struct paragraph_output *output = guard_message("begin");
    const int fds[2] = {attachment->pidfd, event};
    struct attributes rank = cpu_in_mode(grant);
    rank.reset_on_fork = true;
    guard_name(output, attachment->tid, attachment->started_by);
    paragraph_add_number(output, "budget", rank.runtime);
    paragraph_add_number(output, "every", cpu_window(grant));
    if (again)
        paragraph_add(output, "again", "1");
    if (grant->spec.budget_process) {
        paragraph_add(output, "whole", "1");
        paragraph_add_number(output, "owner", attachment->reservation->user->uid);
    }
    attributes_add(output, "", &rank);
    (void)guard_send(output, fds, event >= 0 ? 2 : 1);
}

void guard_begin(struct attachment *attachment, const struct grant *grant, int event, bool again)
{
    if (attachment->pidfd >= 0 && (event >= 0 || grant->plan.policy == POLICY_DEADLINE)) {
        send_begin(attachment, grant, event, again);
        attachment->guarded = true;
        if (grant->plan.policy == POLICY_DEADLINE)
            guard.rank = RANK_HAS_RISEN;
    }
    if (event >= 0)
        close(event);
}

void guard_watch_loop(pid_t process, int event)
{
    struct paragraph_output *output = guard_message("loop");
    paragraph_add_number(output, "tid", (uint64_t)process);
    (void)guard_send(output, &event, 1);
}

void guard_yield(void)
{
    guard.rank = RANK_HAS_YIELDED;
    (void)guard_send(guard_message("yield"), NULL, 0);
}

void guard_rise(void)
{
    guard.rank = RANK_HAS_RISEN;
    (void)guard_send(guard_message("rise"), NULL, 0);
}

/* ---- messages of the guard ---- */

static const char *const news_names[] = {[GUARD_SUSPENDED] = "suspended",
                                         [GUARD_LENT] = "lent",
                                         [GUARD_LOST] = "lost",
                                         [GUARD_ASLEEP] = "asleep",
                                         [GUARD_HOLDS] = "holds"};
enum { NEWS = sizeof news_names / sizeof news_names[0] };

static void guard_take_news(const struct paragraph *said, const char *what)
{
    uint64_t tid, started_by, times;
    struct told *one;
    int which = 0;
    while (which < NEWS && strcmp(what, news_names[which]) != 0)
        which++;
    if (which == NEWS || paragraph_get_number(said, "tid", INT32_MAX, &tid) != 1 ||
        paragraph_get_number(said, "started_by", UINT64_MAX, &started_by) != 1 ||
        paragraph_get_number(said, "times", UINT64_MAX, &times) != 1 ||
        (one = calloc(1, sizeof *one)) == NULL)
        return;
    one->event = (struct guard_event){(enum guard_news)which, (pid_t)tid, started_by, times};
    STAILQ_INSERT_TAIL(&guard.told, one, next);
    timer_set(&guard.news, monotonic_now());
}

static bool guard_on_message(struct program *program, const struct paragraph *said, int *fd)
{
    const char *what = paragraph_get(said, "event"), *answer = paragraph_get(said, "answer");
    (void)program;
    (void)fd;
    if (what != NULL && strcmp(what, "blind") == 0)
        event_broker(
            "warning",
            "the guard cannot bound what threads lend to others by priority inheritance, because the kernel does not show it: %.200s",
            paragraph_get(said, "reason"));
    else if (what != NULL && strcmp(what, "beneath") == 0)
        event_broker(
            "warning",
            "the guard cannot be SCHED_DEADLINE (%.200s): a thread to which another thread lends SCHED_DEADLINE may use more than was granted",
            paragraph_get(said, "reason"));
    else if (what != NULL && strcmp(what, "loop") == 0)
        event_broker(
            "warning",
            "process %.10s of rtf was ordinary for a moment, because it had used a CPU for a second without a pause",
            paragraph_get(said, "tid"));
    else if (what != NULL && strcmp(what, "miscount") == 0)
        guard.listener->miscount();
    else if (what != NULL)
        guard_take_news(said, what);
    else if (answer != NULL) {
        (void)paragraph_get_number(said, "id", UINT64_MAX, &guard.answered);
        if (strcmp(answer, "ok") != 0)
            event_broker("error", "the guard refuses an order: %.300s",
                         paragraph_get(said, "reason"));
    }
    return true;
}

static void guard_pass_on(struct timer *timer)
{
    struct told *first;
    (void)timer;
    while ((first = STAILQ_FIRST(&guard.told)) != NULL) {
        STAILQ_REMOVE_HEAD(&guard.told, next);
        guard.listener->news(&first->event);
        free(first);
    }
}

static void guard_wait(uint64_t id)
{
    const int64_t until = monotonic_now() + answer_within;
    while (supervise_runs(&guard.program) && guard.answered < id)
        if (!supervise_wait(&guard.program, until))
            supervise_fail(&guard.program, "it did not answer in time");
}

/* Makes the guard SCHED_DEADLINE before the first thread becomes SCHED_DEADLINE. A thread that
 * borrows SCHED_DEADLINE through a lock could otherwise keep a guard under SCHED_FIFO from running.
 * A guard that has yielded its bandwidth to a granted thread does not rise here, because the grant
 * comes first. */
static void guard_rise_in_time(void)
{
    struct paragraph_output *output = guard_message("rise");
    const uint64_t id = guard.last_id;
    guard.rank = RANK_HAS_RISEN;
    if (guard_send(output, NULL, 0))
        guard_wait(id);
}

/* The pipe may be full, because thousands of attachments have failed since the guard last read the
 * pipe. Then the message "look" makes the guard read the pipe. */
void guard_expect(const struct attachment *attachment, const struct grant *grant)
{
    const struct promotion expected = {.tid = attachment->tid,
                                       .started_by = attachment->started_by};
    if (grant->plan.policy != POLICY_DEADLINE || !supervise_runs(&guard.program))
        return;
    if (guard.rank == RANK_NOT_YET)
        guard_rise_in_time();
    if (write(guard.promotions, &expected, sizeof expected) < 0 &&
        guard_send(guard_message("look"), NULL, 0))
        (void)!write(guard.promotions, &expected, sizeof expected);
}

void guard_end(struct attachment *attachment, bool detaches)
{
    if (!attachment->guarded)
        return;
    attachment->guarded = false;
    struct paragraph_output *output = guard_message("end");
    const uint64_t id = guard.last_id;
    guard_name(output, attachment->tid, attachment->started_by);
    paragraph_add_stated(output, "detach", detaches);
    if (guard_send(output, NULL, 0))
        guard_wait(id);
}

void guard_look_at(const struct attachment *attachment)
{
    if (!supervise_runs(&guard.program))
        return;
    struct paragraph_output *output = guard_message("ordinary");
    guard_name(output, attachment->tid, attachment->started_by);
    (void)guard_send(output, NULL, 0);
}

void guard_stop(void)
{
    supervise_finish(&guard.program);
    struct paragraph_output *output = guard_message("leave");
    const uint64_t id = guard.last_id;
    if (guard_send(output, NULL, 0))
        guard_wait(id);
    supervise_stop(&guard.program);
}

/* ---- the program ---- */

static void guard_on_start(struct program *program, bool again)
{
    guard.rank = RANK_NOT_YET;
    if (!guard_listen())
        supervise_fail(program, "the broker cannot open a pipe to it");
    else if (again)
        guard.listener->is_new();
}

static const struct program_description guard_is = {
    .name = "the guard",
    .meanwhile = "until then no runtime of FIFO and RR threads is enforced",
    .kind = CHILD_GUARD,
    .talk = COPROCESS_SOCKET,
    SUPERVISE_EACH_SECOND,
    .on_start = guard_on_start,
    .on_message = guard_on_message,
};

void guard_prepare(char *path, const struct guard_listener *who)
{
    guard.listener = who;
    /* the launcher copies the words of argv */
    char serve[] = "--serve", where[TRACEPOINT_TEXT], keep_off[CPU_LIST_TEXT],
         processes[] = "processes";
    char *const argv[] = {path, serve, where, keep_off, plugins_have_processes() ? processes : NULL,
                          NULL};
    cpu_set_t domains;
    tracepoint_find(where);
    plugins_domains(&domains);
    format_cpus(&domains, keep_off);
    supervise_prepare(&guard.program, &guard_is, argv, (struct identity_to_run_as){0, 0});
}

bool guard_start(void)
{
    return supervise_start(&guard.program, -1, -1);
}
