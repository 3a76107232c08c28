#include "helper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"

static const uint64_t longest_wait = UINT64_C(10000000); /* us */
static const int64_t answer_within = INT64_C(5000000000);

struct message {
    TAILQ_ENTRY(message) next;
    uint64_t id;
    int fds[2], fd_count, tries, most;
    /* a descriptor to send along; a duplicate if the message has to wait, because the original may
     * be closed before */
    int pidfd;
    bool sent;
    struct paragraph_output text;
};

static uint64_t helper_last_id;

/* ---- messages to the helper ---- */

/* Sets the time within which the first message has to be answered. */
static void helper_expect(struct helper *helper)
{
    supervise_expect(&helper->program, TAILQ_EMPTY(&helper->messages) ? INT64_MAX : answer_within);
}

/* Sends as much as the socket takes, and the rest when the socket is ready again. */
static void helper_send(struct helper *helper)
{
    struct coprocess *process = &helper->program.process;
    bool full = false;
    if (!supervise_runs(&helper->program))
        return; /* the messages are sent when the helper runs again */
    while (helper->unsent != NULL && !full) {
        struct message *message = helper->unsent;
        if (message->tries < message->most) {
            full = !coprocess_send_fds(process, message->text.data, message->text.length,
                                       message->fds, message->fd_count);
            message->sent = !full;
        }
        if (!full)
            helper->unsent = TAILQ_NEXT(message, next);
    }
    coprocess_wait_for_room(process, full);
}

struct message *helper_begin(const char *op, int tries)
{
    struct message *message = calloc(1, sizeof *message);
    if (message == NULL)
        abort();
    message->id = ++helper_last_id;
    message->most = tries;
    message->pidfd = -1;
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
        helper_expect(helper);
    helper->unsent = helper->unsent == NULL ? message : helper->unsent;
    helper_send(helper);
    message->fd_count = others;
    if (!message->sent)
        helper_carry(message, message->pidfd = pidfd < 0 ? -1 : fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
    return message->id;
}

static void helper_forget(struct helper *helper, struct message *message)
{
    helper->unsent = helper->unsent == message ? TAILQ_NEXT(message, next) : helper->unsent;
    TAILQ_REMOVE(&helper->messages, message, next);
    if (message->pidfd >= 0)
        close(message->pidfd);
    paragraph_output_free(&message->text);
    free(message);
    helper_expect(helper);
}

/* ---- answers of the helper ---- */

/* Removes the first message, which has its answer, and tells the answer. */
static void helper_answer(struct helper *helper, struct helper_event *event)
{
    helper_forget(helper, TAILQ_FIRST(&helper->messages));
    if (helper->drained == NULL) {
        helper->tell(event);
        return;
    }
    if (event->watch >= 0)
        close(event->watch);
    helper->owed = event->after > helper->owed ? event->after : helper->owed;
    *helper->drained = *event;
}

/* Answers messages that were tried too often with HELPER_NO. */
static void helper_give_up(struct helper *helper)
{
    struct message *first;
    while ((first = TAILQ_FIRST(&helper->messages)) != NULL && first->tries >= first->most) {
        struct helper_event event = {.id = first->id, .answer = HELPER_NO, .watch = -1};
        snprintf(event.reason, sizeof event.reason, "%s failed %d times at this request",
                 helper->is.name, first->tries);
        helper_answer(helper, &event);
    }
}

/* Takes the answer to the first message, because answers come in the order of the messages. */
static bool helper_on_message(struct program *program, const struct paragraph *said, int *fd)
{
    static const char *const answers[] = {[HELPER_OK] = "ok",
                                          [HELPER_GONE] = "gone",
                                          [HELPER_BUSY] = "busy",
                                          [HELPER_NO] = "no",
                                          [HELPER_PENDING] = "pending"};
    struct helper *helper = container_of(program, struct helper, program);
    const struct message *first = TAILQ_FIRST(&helper->messages);
    const char *answer = paragraph_get(said, "answer"), *reason = paragraph_get(said, "reason"),
               *unlocked = paragraph_get(said, "unlocked");
    struct helper_event event = {.answer = HELPER_NO, .watch = *fd};
    uint64_t after = 0, pid = 0;
    if (first == NULL || answer == NULL ||
        paragraph_get_number(said, "id", UINT64_MAX, &event.id) != 1 || event.id != first->id)
        return false;
    *fd = -1;
    if (unlocked != NULL)
        event_broker("warning",
                     "%s is not locked in memory, and may have to wait for the disk: %.200s",
                     helper->is.name, unlocked);
    for (int i = HELPER_OK; i <= HELPER_PENDING; i++)
        if (strcmp(answer, answers[i]) == 0)
            event.answer = (enum helper_answer)i;
    if (reason != NULL)
        snprintf(event.reason, sizeof event.reason, "%s", reason);
    if ((event.answer == HELPER_PENDING || event.answer == HELPER_OK) &&
        paragraph_get_number(said, "after", longest_wait, &after) == 1)
        event.after = (int64_t)after * 1000;
    if (event.answer == HELPER_OK && paragraph_get_number(said, "pid", INT32_MAX, &pid) == 1)
        event.loop = (pid_t)pid;
    helper_answer(helper, &event);
    helper_give_up(helper);
    return true;
}

/* ---- the program ---- */

/* Sends all unanswered messages to the new process, because the new process does not know the
 * messages to the last process. */
static void helper_on_start(struct program *program, bool again)
{
    struct helper *helper = container_of(program, struct helper, program);
    struct message *message;
    TAILQ_FOREACH (message, &helper->messages, next) {
        if (message->most == 1)
            message->tries = 1;
        message->sent = false;
    }
    helper->unsent = TAILQ_FIRST(&helper->messages);
    helper_expect(helper);
    helper_send(helper);
    if (again && helper->again != NULL)
        helper->again();
    helper_give_up(helper);
}

static void helper_on_room(struct program *program)
{
    helper_send(container_of(program, struct helper, program));
}

/* Counts a failed try of the first message, because the helper may have died of it. */
static void helper_on_gone(struct program *program, const char *why)
{
    struct helper *helper = container_of(program, struct helper, program);
    struct message *first = TAILQ_FIRST(&helper->messages);
    (void)why;
    if (first != NULL)
        first->tries++;
    helper_give_up(helper);
}

void helper_prepare(struct helper *helper, const char *name, enum child_kind kind,
                    char *const argv[], void (*tell)(const struct helper_event *event))
{
    *helper = (struct helper){.tell = tell,
                              .is = {.name = name,
                                     .kind = kind,
                                     .talk = COPROCESS_SOCKET,
                                     SUPERVISE_EACH_SECOND,
                                     .on_start = helper_on_start,
                                     .on_message = helper_on_message,
                                     .on_room = helper_on_room,
                                     .on_gone = helper_on_gone}};
    TAILQ_INIT(&helper->messages);
    supervise_prepare(&helper->program, &helper->is, argv, (struct identity_to_run_as){0, 0});
}

bool helper_start(struct helper *helper, int lock)
{
    return supervise_start(&helper->program, -1, lock);
}

void helper_stop(struct helper *helper)
{
    struct message *message;
    supervise_stop(&helper->program);
    while ((message = TAILQ_FIRST(&helper->messages)) != NULL)
        helper_forget(helper, message);
}

bool helper_drain(struct helper *helper, int seconds, struct helper_event *last)
{
    const int64_t until = monotonic_now() + (int64_t)seconds * 1000000000;
    helper->drained = last;
    while (!TAILQ_EMPTY(&helper->messages) && supervise_hurry(&helper->program) &&
           supervise_wait(&helper->program, until))
        ;
    helper->drained = NULL;
    return TAILQ_EMPTY(&helper->messages);
}

int64_t helper_owed(struct helper *helper)
{
    const int64_t now = helper->owed;
    helper->owed = 0;
    return now;
}
