#include "attach.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "coprocess.h"
#include "event.h"
#include "guard.h"
#include "home.h"
#include "plugin-lines.h"
#include "starter.h"
#include "units.h"

static const uint64_t longest_wait = UINT64_C(10000000); /* us */
static const int64_t answer_within = INT64_C(5000000000), restart_pause = INT64_C(1000000000);
/* Over one message the helper may die so often: then the message is what it dies of. A thread that is not put back stays as it is,
 * with nobody to answer for it: that is tried longer. */
enum { TRIES = 2, RESTORE_TRIES = 10 };

struct message {
    TAILQ_ENTRY(message) next;
    uint64_t id;
    int fds[2], fd_count, tries, most, watch;
    int pidfd; /* a copy, if it has to wait: the attachment may end before it is sent */
    bool sent;
    struct paragraph_output text;
};
TAILQ_HEAD(message_list, message);

static void ready(struct source *source, uint32_t events);
static void due(struct timer *late);

static struct coprocess helper = {.source.ready = ready, .in = -1, .out = -1};
static struct timer timer = {.due = due}; /* while it runs, the time for its next answer; else its start */
static void (*tell)(const struct helper_event *event);
static struct message_list messages = TAILQ_HEAD_INITIALIZER(messages);
static struct message *unsent, *unanswered; /* the first; NULL: none */
static int part, shared_lock = -1;
static uint64_t last_id;
static int64_t started; /* not more often than once a second */

static void drop_watch(struct message *message)
{
    if (message->watch >= 0)
        close(message->watch);
    message->watch = -1;
}

static void expect_answer(void)
{
    if (helper.running)
        timer_set(&timer, TAILQ_EMPTY(&messages) ? INT64_MAX : monotonic_now() + answer_within);
}

static bool restart(void)
{
    struct message *message;
    coprocess_kill(&helper);
    TAILQ_FOREACH(message, &messages, next) {
        message->sent = false;
        drop_watch(message);
    }
    unsent = unanswered = TAILQ_FIRST(&messages);
    started = monotonic_now();
    timer_end(&timer);
    const bool good = coprocess_start(&helper, part, true, shared_lock);
    expect_answer();
    return good;
}

void helper_prepare(char *path, void (*event)(const struct helper_event *event))
{
    tell = event;
    static char serve[] = "--serve";
    char *const argv[] = {path, serve, NULL};
    part = starter_add(PART_HELPER, argv, (struct identity_to_run_as){0, 0});
}

bool helper_start(int lock)
{
    shared_lock = lock;
    return restart();
}

void helper_stop(void)
{
    coprocess_kill(&helper);
}

/* Sends as much as the socket takes; the rest when it is ready again. */
static void send_waiting(void)
{
    if (!helper.running)
        return; /* when it is back */
    bool full = false;
    for (; unsent != NULL; unsent = TAILQ_NEXT(unsent, next)) {
        if (unsent->tries >= unsent->most)
            continue;
        if (!coprocess_send_fds(&helper, unsent->text.data, unsent->text.length, unsent->fds, unsent->fd_count)) {
            full = true;
            break;
        }
        unsent->sent = true;
    }
    if (full != helper.writing && helper.in >= 0) {
        helper.writing = full;
        loop_change(helper.in, full ? EPOLLIN | EPOLLOUT : EPOLLIN, &helper.source);
    }
}

static struct message *begin(const char *op)
{
    struct message *message = calloc(1, sizeof *message);
    if (message == NULL)
        abort();
    message->id = ++last_id;
    message->most = strcmp(op, "restore") == 0 ? RESTORE_TRIES : TRIES;
    message->pidfd = message->watch = -1;
    paragraph_add(&message->text, "op", op);
    paragraph_add_number(&message->text, "id", message->id);
    return message;
}

static void carry(struct message *message, int fd)
{
    if (fd >= 0)
        message->fds[message->fd_count++] = fd;
}

/* Said again, it goes without the pidfd, and the helper looks for itself. */
static uint64_t finish(struct message *message, int pidfd)
{
    const int others = message->fd_count;
    carry(message, pidfd);
    paragraph_close(&message->text);
    const bool is_first = TAILQ_EMPTY(&messages);
    TAILQ_INSERT_TAIL(&messages, message, next);
    if (is_first)
        expect_answer();
    unsent = unsent == NULL ? message : unsent;
    unanswered = unanswered == NULL ? message : unanswered;
    send_waiting();
    message->fd_count = others;
    if (!message->sent)
        carry(message, message->pidfd = pidfd < 0 ? -1 : fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
    return message->id;
}

static struct message *about(const char *op, const struct attachment *attachment)
{
    struct message *message = begin(op);
    paragraph_add_number(&message->text, "tid", (uint64_t)attachment->tid);
    paragraph_add_number(&message->text, "started_by", attachment->started_by);
    if (attachment->group != NULL)
        paragraph_add(&message->text, "group", attachment->group);
    return message;
}

/* Its answer brings what tells when the runtime is used up. */
static void budget(struct message *message, const struct grant *grant)
{
    if (guard_enforces(grant))
        paragraph_add_number(&message->text, "budget", grant->plan.runtime);
}

static struct message *about_grant(const char *op, struct attachment *attachment, const struct grant *grant)
{
    guard_end(attachment);
    guard_expect(attachment, grant);
    home_expect(&attachment->presence, &grant->plan);
    struct message *message = about(op, attachment);
    budget(message, grant);
    struct attributes wanted = grant->plan;
    wanted.reset_on_fork = true;
    wanted.domain = plugin_line(grant->plugin)->domains;
    attributes_add(&message->text, "", &wanted);
    if (grant->spec.move_process)
        paragraph_add(&message->text, "move", "process");
    return message;
}

/* A thread that does not lead its process is watched for its execve, once it is attached. */
static void watch(struct message *message, const struct attachment *attachment)
{
    paragraph_add(&message->text, "watch", attachment->tid != attachment->process ? "exec" : "end");
}

uint64_t helper_apply(struct attachment *attachment, const struct grant *grant, int reservation_fd)
{
    struct message *message = about_grant("apply", attachment, grant);
    carry(message, reservation_fd);
    if (attachment->watch < 0 || attachment->tid != attachment->process)
        watch(message, attachment);
    return finish(message, attachment->pidfd);
}

uint64_t helper_adjust(struct attachment *attachment, const struct grant *grant)
{
    return finish(about_grant("adjust", attachment, grant), attachment->pidfd);
}

uint64_t helper_apply_again(struct attachment *attachment, const struct grant *grant)
{
    return finish(about_grant("restore", attachment, grant), attachment->pidfd);
}

uint64_t helper_restore(struct attachment *attachment)
{
    guard_end(attachment);
    struct message *message = about("restore", attachment);
    attributes_add(&message->text, "", &attachment->former);
    return finish(message, attachment->pidfd);
}

uint64_t helper_watch(const struct attachment *attachment)
{
    struct message *message = about("watch", attachment);
    watch(message, attachment);
    return finish(message, attachment->pidfd);
}

uint64_t helper_budget(const struct attachment *attachment, const struct grant *grant)
{
    struct message *message = about("budget", attachment);
    budget(message, grant);
    return finish(message, attachment->pidfd);
}

uint64_t helper_sweep(const struct attachment *attachment)
{
    return finish(about("sweep", attachment), attachment->pidfd);
}

uint64_t helper_probe(const cpu_set_t *cpus)
{
    char list[CPU_LIST_TEXT];
    struct message *message = begin("probe");
    paragraph_add(&message->text, "cpus", format_cpus(cpus, list));
    return finish(message, -1);
}

uint64_t helper_domains(const cpu_set_t *cpus, const char *by)
{
    char list[CPU_LIST_TEXT];
    struct message *message = begin("domains");
    paragraph_add(&message->text, "by", by);
    if (CPU_COUNT(cpus) > 0)
        paragraph_add(&message->text, "cpus", format_cpus(cpus, list));
    return finish(message, -1);
}

uint64_t helper_rt_runtime(const char *value)
{
    struct message *message = begin("rt_runtime");
    paragraph_add(&message->text, "value", value);
    return finish(message, -1);
}

static void forget(struct message *message)
{
    unsent = unsent == message ? TAILQ_NEXT(message, next) : unsent;
    unanswered = unanswered == message ? TAILQ_NEXT(message, next) : unanswered;
    TAILQ_REMOVE(&messages, message, next);
    drop_watch(message);
    if (message->pidfd >= 0)
        close(message->pidfd);
    paragraph_output_free(&message->text);
    free(message);
    expect_answer();
}

static void start_again(void)
{
    if (!restart()) {
        event_broker("error", "the attach helper cannot be started");
        timer_set(&timer, monotonic_now() + restart_pause);
    }
    send_waiting();
}

/* Starts it again; what has been tried too often is given up by receive. */
static void lost(const char *why)
{
    struct message *first = TAILQ_FIRST(&messages);
    event_broker("error", "the attach helper %s and is started again", why);
    if (first != NULL)
        first->tries++;
    coprocess_kill(&helper);
    timer_set(&timer, started + restart_pause);
}

/* Answers come in the order of the messages. */
static void keep_watch(int watch)
{
    if (unanswered == NULL) {
        if (watch >= 0)
            close(watch);
        return;
    }
    unanswered->watch = watch;
    unanswered = TAILQ_NEXT(unanswered, next);
}

static void hear(void)
{
    bool received;
    int watch = -1;
    if (!helper.running)
        return;
    if (!coprocess_receive(&helper, &received, &watch)) {
        lost("ended");
        return;
    }
    if (received)
        keep_watch(watch);
    else if (watch >= 0)
        close(watch);
    send_waiting();
}

static bool receive(struct helper_event *event)
{
    struct paragraph said;
    const char *why;
    struct message *first = TAILQ_FIRST(&messages);
    if (first == NULL)
        return false;
    *event = (struct helper_event){.id = first->id, .watch = -1};
    if (first->tries >= first->most) {
        event->answer = HELPER_NO;
        snprintf(event->reason, sizeof event->reason, "the attach helper failed %d times over it", first->tries);
        forget(first);
        return true;
    }
    int taken = paragraph_take(&helper.input, &said, &why);
    if (taken == 0)
        return false;
    const char *answer = taken < 0 ? NULL : paragraph_get(&said, "answer"), *reason = taken < 0 ? NULL : paragraph_get(&said, "reason");
    uint64_t id;
    if (answer == NULL || paragraph_get_number(&said, "id", UINT64_MAX, &id) != 1 || id != first->id) {
        lost("babbled");
        return receive(event);
    }
    const char *unlocked = paragraph_get(&said, "unlocked");
    if (unlocked != NULL)
        event_broker("warning", "the attach helper is not locked in memory, and may have to wait for the disk: %.200s", unlocked);
    static const char *const answers[] = {[HELPER_OK] = "ok", [HELPER_GONE] = "gone", [HELPER_BUSY] = "busy", [HELPER_NO] = "no", [HELPER_PENDING] = "pending"};
    event->answer = HELPER_NO;
    for (int i = HELPER_OK; i <= HELPER_PENDING; i++)
        if (strcmp(answer, answers[i]) == 0)
            event->answer = (enum helper_answer)i;
    if (reason != NULL)
        snprintf(event->reason, sizeof event->reason, "%s", reason);
    uint64_t after = 0;
    if ((event->answer == HELPER_PENDING || event->answer == HELPER_OK) && paragraph_get_number(&said, "after", longest_wait, &after) == 1)
        event->after = (int64_t)after * 1000;
    event->watch = first->watch;
    first->watch = -1;
    forget(first);
    return true;
}

static void take_events(void)
{
    struct helper_event event;
    while (receive(&event))
        tell(&event);
}

static void ready(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
    hear();
    take_events();
}

static void due(struct timer *late)
{
    (void)late;
    if (!helper.running) {
        start_again();
    } else {
        hear(); /* an answer that the broker was kept from reading is not late */
        if (helper.running && helper.input.length == helper.input.taken)
            lost("hung");
        else
            expect_answer();
    }
    take_events();
}

static int64_t owed;

int64_t helper_owed(void)
{
    int64_t now = owed;
    owed = 0;
    return now;
}

bool helper_drain(int seconds, struct helper_event *last)
{
    int64_t until = monotonic_now() + (int64_t)seconds * 1000000000;
    while (!TAILQ_EMPTY(&messages)) {
        if (receive(last)) {
            if (last->watch >= 0)
                close(last->watch);
            owed = last->after > owed ? last->after : owed;
            continue;
        }
        if (!helper.running)
            start_again(); /* the end of the broker does not wait for a pause */
        struct pollfd one = {.fd = helper.in, .events = (short)(helper.writing ? POLLIN | POLLOUT : POLLIN)};
        int64_t left = (until - monotonic_now()) / 1000000;
        if (left <= 0 || poll(&one, 1, (int)left) <= 0)
            return false;
        hear();
    }
    return true;
}
