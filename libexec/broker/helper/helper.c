#include "helper.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"

static const uint64_t longest_wait = UINT64_C(10000000); /* us */
static const int64_t answer_within = INT64_C(5000000000), restart_pause = INT64_C(1000000000);

struct message {
    TAILQ_ENTRY(message) next;
    uint64_t id;
    int fds[2], fd_count, tries, most, watch;
    int pidfd; /* a copy, if it has to wait: what it is of may end before it is sent */
    bool sent;
    struct paragraph_output text;
};

static uint64_t last_id;

static void drop_watch(struct message *message)
{
    if (message->watch >= 0)
        close(message->watch);
    message->watch = -1;
}

static void expect_answer(struct helper *helper)
{
    if (helper->process.running)
        timer_set(&helper->timer, TAILQ_EMPTY(&helper->messages) ? INT64_MAX : monotonic_now() + answer_within);
}

static bool restart(struct helper *helper)
{
    struct message *message;
    coprocess_kill(&helper->process);
    TAILQ_FOREACH(message, &helper->messages, next) {
        if (message->most == 1)
            message->tries = 1;
        message->sent = false;
        drop_watch(message);
    }
    helper->unsent = helper->unanswered = TAILQ_FIRST(&helper->messages);
    helper->started = monotonic_now();
    timer_end(&helper->timer);
    const bool good = coprocess_start(&helper->process, helper->process.child, COPROCESS_SOCKET, -1, helper->shared_lock);
    expect_answer(helper);
    return good;
}

/* Sends as much as the socket takes; the rest when it is ready again. */
static void send_waiting(struct helper *helper)
{
    if (!helper->process.running)
        return; /* when it is back */
    bool full = false;
    for (; helper->unsent != NULL; helper->unsent = TAILQ_NEXT(helper->unsent, next)) {
        if (helper->unsent->tries >= helper->unsent->most)
            continue;
        if (!coprocess_send_fds(&helper->process, helper->unsent->text.data, helper->unsent->text.length, helper->unsent->fds, helper->unsent->fd_count)) {
            full = true;
            break;
        }
        helper->unsent->sent = true;
    }
    if (full != helper->process.writing && helper->process.in >= 0) {
        helper->process.writing = full;
        loop_change(helper->process.in, full ? EPOLLIN | EPOLLOUT : EPOLLIN, &helper->process.source);
    }
}

struct message *helper_begin(const char *op, int tries)
{
    struct message *message = calloc(1, sizeof *message);
    if (message == NULL)
        abort();
    message->id = ++last_id;
    message->most = tries;
    message->pidfd = message->watch = -1;
    paragraph_add(&message->text, "op", op);
    paragraph_add_number(&message->text, "id", message->id);
    return message;
}

struct paragraph_output *helper_text(struct message *message)
{
    return &message->text;
}

void helper_carry(struct message *message, int fd)
{
    if (fd >= 0)
        message->fds[message->fd_count++] = fd;
}

uint64_t helper_finish(struct helper *helper, struct message *message, int pidfd)
{
    const int others = message->fd_count;
    helper_carry(message, pidfd);
    paragraph_close(&message->text);
    const bool is_first = TAILQ_EMPTY(&helper->messages);
    TAILQ_INSERT_TAIL(&helper->messages, message, next);
    if (is_first)
        expect_answer(helper);
    helper->unsent = helper->unsent == NULL ? message : helper->unsent;
    helper->unanswered = helper->unanswered == NULL ? message : helper->unanswered;
    send_waiting(helper);
    message->fd_count = others;
    if (!message->sent)
        helper_carry(message, message->pidfd = pidfd < 0 ? -1 : fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
    return message->id;
}

static void forget(struct helper *helper, struct message *message)
{
    helper->unsent = helper->unsent == message ? TAILQ_NEXT(message, next) : helper->unsent;
    helper->unanswered = helper->unanswered == message ? TAILQ_NEXT(message, next) : helper->unanswered;
    TAILQ_REMOVE(&helper->messages, message, next);
    drop_watch(message);
    if (message->pidfd >= 0)
        close(message->pidfd);
    paragraph_output_free(&message->text);
    free(message);
    expect_answer(helper);
}

static void start_again(struct helper *helper)
{
    if (!restart(helper)) {
        event_broker("error", "%s cannot be started", helper->name);
        timer_set(&helper->timer, monotonic_now() + restart_pause);
        return;
    }
    send_waiting(helper);
    if (helper->again != NULL)
        helper->again();
}

/* Starts it again; what has been tried too often is given up by receive. */
static void lost(struct helper *helper, const char *why)
{
    struct message *first = TAILQ_FIRST(&helper->messages);
    event_broker("error", "%s %s and is started again", helper->name, why);
    if (first != NULL)
        first->tries++;
    coprocess_kill(&helper->process);
    timer_set(&helper->timer, helper->started + restart_pause);
}

/* Answers come in the order of the messages. */
static void keep_watch(struct helper *helper, int watch)
{
    if (helper->unanswered == NULL) {
        if (watch >= 0)
            close(watch);
        return;
    }
    helper->unanswered->watch = watch;
    helper->unanswered = TAILQ_NEXT(helper->unanswered, next);
}

static void hear(struct helper *helper)
{
    bool received;
    int watch = -1;
    if (!helper->process.running)
        return;
    if (!coprocess_receive(&helper->process, &received, &watch)) {
        lost(helper, "ended");
        return;
    }
    if (received)
        keep_watch(helper, watch);
    else if (watch >= 0)
        close(watch);
    send_waiting(helper);
}

static bool receive(struct helper *helper, struct helper_event *event)
{
    struct paragraph said;
    const char *why;
    struct message *first = TAILQ_FIRST(&helper->messages);
    if (first == NULL)
        return false;
    *event = (struct helper_event){.id = first->id, .watch = -1};
    if (first->tries >= first->most) {
        event->answer = HELPER_NO;
        snprintf(event->reason, sizeof event->reason, "%s failed %d times over it", helper->name, first->tries);
        forget(helper, first);
        return true;
    }
    int taken = paragraph_take(&helper->process.input, &said, &why);
    if (taken == 0)
        return false;
    const char *answer = taken < 0 ? NULL : paragraph_get(&said, "answer"), *reason = taken < 0 ? NULL : paragraph_get(&said, "reason");
    uint64_t id;
    if (answer == NULL || paragraph_get_number(&said, "id", UINT64_MAX, &id) != 1 || id != first->id) {
        lost(helper, "babbled");
        return receive(helper, event);
    }
    const char *unlocked = paragraph_get(&said, "unlocked");
    if (unlocked != NULL)
        event_broker("warning", "%s is not locked in memory, and may have to wait for the disk: %.200s", helper->name, unlocked);
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
    forget(helper, first);
    return true;
}

static void take_events(struct helper *helper)
{
    struct helper_event event;
    while (receive(helper, &event))
        helper->tell(&event);
}

static void ready(struct source *source, uint32_t events)
{
    struct helper *helper = (struct helper *)((char *)source - offsetof(struct helper, process.source));
    (void)events;
    hear(helper);
    take_events(helper);
}

static void due(struct timer *late)
{
    struct helper *helper = (struct helper *)((char *)late - offsetof(struct helper, timer));
    if (!helper->process.running) {
        start_again(helper);
    } else {
        hear(helper); /* an answer that the broker was kept from reading is not late */
        if (helper->process.running && helper->process.input.length == helper->process.input.taken)
            lost(helper, "hung");
        else
            expect_answer(helper);
    }
    take_events(helper);
}

void helper_prepare(struct helper *helper, const char *name, enum child_kind kind, char *const argv[], void (*tell)(const struct helper_event *event))
{
    *helper = (struct helper){.name = name, .process = {.source.ready = ready, .in = -1, .out = -1}, .timer.due = due, .shared_lock = -1, .tell = tell};
    TAILQ_INIT(&helper->messages);
    helper->process.child = launcher_add(kind, argv, (struct identity_to_run_as){0, 0});
}

bool helper_start(struct helper *helper, int lock)
{
    helper->shared_lock = lock;
    return restart(helper);
}

void helper_stop(struct helper *helper)
{
    struct message *next;
    coprocess_kill(&helper->process);
    for (struct message *message = TAILQ_FIRST(&helper->messages); message != NULL; message = next) {
        next = TAILQ_NEXT(message, next);
        forget(helper, message);
    }
    timer_end(&helper->timer);
}

bool helper_drain(struct helper *helper, int seconds, struct helper_event *last)
{
    int64_t until = monotonic_now() + (int64_t)seconds * 1000000000;
    while (!TAILQ_EMPTY(&helper->messages)) {
        if (receive(helper, last)) {
            if (last->watch >= 0)
                close(last->watch);
            helper->owed = last->after > helper->owed ? last->after : helper->owed;
            continue;
        }
        if (!helper->process.running)
            start_again(helper); /* the end of the broker does not wait for a pause */
        struct pollfd one = {.fd = helper->process.in, .events = (short)(helper->process.writing ? POLLIN | POLLOUT : POLLIN)};
        int64_t left = (until - monotonic_now()) / 1000000;
        if (left <= 0 || poll(&one, 1, (int)left) <= 0)
            return false;
        hear(helper);
    }
    return true;
}

int64_t helper_owed(struct helper *helper)
{
    const int64_t now = helper->owed;
    helper->owed = 0;
    return now;
}
