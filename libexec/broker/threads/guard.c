#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "coprocess.h"
#include "event.h"
#include "guard/promotions.h"
#include "resource-cpu.h"
#include "transient.h"
#include "plugin-lines.h"
#include "spec.h"
#include "launcher.h"
#include "tracepoint.h"
#include "units.h"

static const int64_t answer_within = INT64_C(1000000000), restart_pause = INT64_C(1000000000);

/* What it said while an answer was waited for, too. */
struct told {
    STAILQ_ENTRY(told) next;
    struct guard_event event;
};
static STAILQ_HEAD(, told) told = STAILQ_HEAD_INITIALIZER(told);

static void ready(struct source *source, uint32_t events);
static void start_again(struct timer *timer);
static void pass_on(struct timer *timer);

static struct coprocess guard = {.source.ready = ready, .in = -1, .out = -1};
static struct timer restart = {.due = start_again}, news = {.due = pass_on}; /* news: for what it said while an answer was waited for */
static const struct guard_listener *listener;
static int child;
static uint64_t last_id, answered;
static int64_t started;
static int expectations = -1;
static enum { RANK_NOT_YET, RANK_HAS_RISEN, RANK_HAS_YIELDED } rank; /* libexec/guard/guard-rank.h; as far as the broker has said */

void guard_prepare(char *path, const struct guard_listener *who)
{
    listener = who;
    static char serve[] = "--serve", where[TRACEPOINT_TEXT], keep_off[CPU_LIST_TEXT];
    char *const argv[] = {path, serve, where, keep_off, NULL};
    cpu_set_t domains;
    tracepoint_find(where);
    plugins_domains(&domains);
    format_cpus(&domains, keep_off);
    child = launcher_add(CHILD_GUARD, argv, (struct identity_to_run_as){0, 0});
}

static void lost(const char *why)
{
    event_broker("error", "the guard %s and is started again; until then no runtime of FIFO and RR threads is enforced", why);
    coprocess_kill(&guard);
    timer_set(&restart, started + restart_pause);
}

/* ---- to it ---- */

static struct paragraph_output *message(const char *op)
{
    static struct paragraph_output output;
    output.length = 0;
    paragraph_add(&output, "op", op);
    paragraph_add_number(&output, "id", ++last_id);
    return &output;
}

/* A socket that is full is waited for: the guard reads it as soon as it runs, and it runs above the broker. */
static bool send_out(struct paragraph_output *output, const int *fds, int count)
{
    const int64_t until = monotonic_now() + answer_within;
    paragraph_close(output);
    while (guard.running && !coprocess_send_fds(&guard, output->data, output->length, fds, count)) {
        struct pollfd room = {.fd = guard.out, .events = POLLOUT};
        if (!is_transient(errno) || monotonic_now() > until || (poll(&room, 1, 100) < 0 && errno != EINTR))
            lost("does not listen");
    }
    return guard.running;
}

static bool begin_to_expect(void)
{
    int ends[2];
    if (expectations >= 0)
        close(expectations);
    expectations = -1;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    expectations = ends[1];
    const bool sent = send_out(message("listen"), &ends[0], 1);
    close(ends[0]);
    return sent;
}

bool guard_start(void)
{
    rank = RANK_NOT_YET;
    started = monotonic_now();
    timer_end(&restart);
    return coprocess_start(&guard, child, COPROCESS_SOCKET, -1, -1) && begin_to_expect();
}

static void start_again(struct timer *timer)
{
    if (guard_start())
        listener->is_new();
    else
        timer_set(timer, monotonic_now() + restart_pause);
}

static void name(struct paragraph_output *output, pid_t tid, uint64_t started_by)
{
    paragraph_add_number(output, "tid", (uint64_t)tid);
    paragraph_add_number(output, "started_by", started_by);
}

/* Below that the guard itself would take a fair share of what it guards. */
static const uint64_t least_runtime = 500, least_window = 5000; /* us */

bool guard_can_enforce(int plugin, const struct spec *spec, char reason[static REASON_BYTES])
{
    const uint64_t window = spec->period != 0 ? spec->period : spec_window(spec);
    if (!plugin_line(plugin)->enforced)
        return true;
    if (spec->runtime == 0 || window == 0)
        snprintf(reason, REASON_BYTES, "it enforces runtimes: state \"runtime\", and \"period\" or \"deadline\"");
    else if (spec->runtime < least_runtime || window < least_window)
        snprintf(reason, REASON_BYTES, "it enforces runtimes, of at least %lluus in at least %lluus", (unsigned long long)least_runtime, (unsigned long long)least_window);
    else
        return true;
    return false;
}

void guard_child(const struct guarded_child *guarded, bool again)
{
    struct paragraph_output *output = message("begin");
    const int fds[2] = {guarded->pidfd, guarded->event};
    name(output, guarded->pid, guarded->started_by);
    paragraph_add_number(output, "budget", guarded->runtime);
    paragraph_add_number(output, "every", guarded->period);
    if (again)
        paragraph_add(output, "again", "1");
    attributes_add(output, "", &guarded->rank);
    (void)send_out(output, fds, guarded->event >= 0 ? 2 : 1);
}

void guard_begin(struct attachment *attachment, const struct grant *grant, int event, bool again)
{
    struct guarded_child guarded = {.pid = attachment->tid, .started_by = attachment->started_by, .rank = cpu_in_mode(grant), .runtime = cpu_in_mode(grant).runtime,
                                   .period = cpu_window(grant), .pidfd = attachment->pidfd, .event = event};
    guarded.rank.reset_on_fork = true;
    if (attachment->pidfd >= 0 && (event >= 0 || grant->plan.policy == POLICY_DEADLINE)) {
        guard_child(&guarded, again);
        attachment->guarded = true;
        if (grant->plan.policy == POLICY_DEADLINE)
            rank = RANK_HAS_RISEN;
    }
    if (event >= 0)
        close(event);
}

void guard_yield(void)
{
    rank = RANK_HAS_YIELDED;
    if (guard.running)
        (void)send_out(message("yield"), NULL, 0);
}

void guard_rise(void)
{
    rank = RANK_HAS_RISEN;
    if (guard.running)
        (void)send_out(message("rise"), NULL, 0);
}

/* ---- from it ---- */

static const char *const news_names[] = {[GUARD_SUSPENDED] = "suspended", [GUARD_LENT] = "lent", [GUARD_LOST] = "lost", [GUARD_ASLEEP] = "asleep"};
enum { NEWS = sizeof news_names / sizeof news_names[0] };

static void take_news(const struct paragraph *said, const char *what)
{
    uint64_t tid, started_by, times;
    struct told *one;
    int which = 0;
    while (which < NEWS && strcmp(what, news_names[which]) != 0)
        which++;
    if (which == NEWS || paragraph_get_number(said, "tid", INT32_MAX, &tid) != 1 || paragraph_get_number(said, "started_by", UINT64_MAX, &started_by) != 1 ||
        paragraph_get_number(said, "times", UINT64_MAX, &times) != 1 || (one = calloc(1, sizeof *one)) == NULL)
        return;
    one->event = (struct guard_event){(enum guard_news)which, (pid_t)tid, started_by, times};
    STAILQ_INSERT_TAIL(&told, one, next);
    timer_set(&news, monotonic_now());
}

/* False: it has ended. */
static bool take_one(void)
{
    struct paragraph said;
    const char *why, *what, *answer;
    bool received;
    int fd = -1;
    if (!coprocess_receive(&guard, &received, &fd))
        return false;
    if (fd >= 0)
        close(fd);
    while (paragraph_take(&guard.input, &said, &why) == 1) {
        what = paragraph_get(&said, "event");
        if (what != NULL && strcmp(what, "blind") == 0)
            event_broker("warning", "what threads lend to others by priority inheritance is not bounded, for the kernel does not show it: %.200s",
                         paragraph_get(&said, "reason"));
        else if (what != NULL && strcmp(what, "beneath") == 0)
            event_broker("warning", "the guard cannot be SCHED_DEADLINE: %.200s: threads that are lent SCHED_DEADLINE may use more than was granted",
                         paragraph_get(&said, "reason"));
        else if (what != NULL)
            take_news(&said, what);
        else if ((answer = paragraph_get(&said, "answer")) != NULL) {
            (void)paragraph_get_number(&said, "id", UINT64_MAX, &answered);
            if (strcmp(answer, "ok") != 0)
                event_broker("error", "the guard refuses: %.300s", paragraph_get(&said, "reason"));
        }
    }
    return true;
}

static void hear(void)
{
    if (guard.running && !take_one())
        lost("ended");
}

static void ready(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
    hear();
}

static void pass_on(struct timer *timer)
{
    struct told *first;
    (void)timer;
    while ((first = STAILQ_FIRST(&told)) != NULL) {
        STAILQ_REMOVE_HEAD(&told, next);
        listener->news(&first->event);
        free(first);
    }
}

static void wait_for_answer(uint64_t id)
{
    const int64_t until = monotonic_now() + answer_within;
    while (guard.running && answered < id) {
        struct pollfd one = {.fd = guard.in, .events = POLLIN};
        const int64_t left = (until - monotonic_now()) / 1000000;
        if (left <= 0 || (poll(&one, 1, (int)left) < 0 && errno != EINTR))
            lost("hung");
        else
            hear();
    }
}

/* Once it waits for the broker's word among threads that are lent SCHED_DEADLINE, it may be too late to rise. It has yielded for the sake of a
 * thread: that one comes first. */
static void rise_in_time(void)
{
    struct paragraph_output *output = message("rise");
    const uint64_t id = last_id;
    rank = RANK_HAS_RISEN;
    if (send_out(output, NULL, 0))
        wait_for_answer(id);
}

/* A pipe is full when thousands of attachments have failed since the guard last read it. */
void guard_expect(const struct attachment *attachment, const struct grant *grant)
{
    const struct promotion expected = {.tid = attachment->tid, .started_by = attachment->started_by};
    if (grant->plan.policy != POLICY_DEADLINE || !guard.running)
        return;
    if (rank == RANK_NOT_YET)
        rise_in_time();
    if (write(expectations, &expected, sizeof expected) < 0 && send_out(message("look"), NULL, 0))
        (void)!write(expectations, &expected, sizeof expected);
}

void guard_end(struct attachment *attachment)
{
    if (!attachment->guarded)
        return;
    attachment->guarded = false;
    struct paragraph_output *output = message("end");
    const uint64_t id = last_id;
    name(output, attachment->tid, attachment->started_by);
    if (send_out(output, NULL, 0))
        wait_for_answer(id);
}

void guard_stop(void)
{
    struct paragraph_output *output = message("leave");
    const uint64_t id = last_id;
    if (guard.running && send_out(output, NULL, 0))
        wait_for_answer(id);
    coprocess_kill(&guard);
    timer_end(&restart);
}
