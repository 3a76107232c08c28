/* A helper, as the broker sees it: a small program that does one thing to the machine (rtf-attach
 * --serve, rtf-net --serve). The helper reads paragraphs from a socket and answers them in order. A
 * helper that dies or hangs is started again, and gets the unanswered messages once more: each
 * message may come twice. */
#ifndef RTF_HELPER_H
#define RTF_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "supervise.h"

enum helper_answer { HELPER_OK, HELPER_GONE, HELPER_NO, HELPER_BUSY, HELPER_PENDING };
enum { HELPER_REASON = 512 };

struct helper_event {
    uint64_t id;
    enum helper_answer answer;
    char reason[HELPER_REASON]; /* with NO and BUSY: why the helper has not done it */
    /* PENDING: the message can be repeated after this time, ns; 0: when the thread runs. OK: for
     * this time the kernel still counts the former bandwidth of the thread, ns */
    int64_t after;
    /* OK: the process of rtf whose perf event is in `watch` (guard_watch_loop); 0: `watch` is -1,
     * or its perf event is about a granted thread */
    pid_t loop;
    /* a descriptor of a perf event, which the receiver closes; -1: none. With OK for an enforced
     * grant (grant_is_enforced), the perf event reports when the thread has used up its runtime */
    int watch;
};

/* A message that has not been sent yet, or not been answered. */
struct message;
TAILQ_HEAD(message_list, message);

struct helper {
    struct program_description is; /* is.name: "the attach helper" */
    struct program program;
    struct message_list messages;
    struct message *unsent; /* the first message that has not been sent; NULL: none */
    /* the last answer, during helper_drain; NULL: each answer goes to `tell` */
    struct helper_event *drained;
    int64_t owed; /* the longest time `after` of the answers that helper_drain has dropped, ns
                   * (helper_owed) */
    void (*tell)(const struct helper_event *event);
    /* NULL, or called when the helper has been started again, after the unanswered messages have
     * been sent once more */
    void (*again)(void);
};

/* Tells the launcher about the program, before the launcher is forked. From then on *helper must
 * stay at its address. */
void helper_prepare(struct helper *helper, const char *name, enum child_kind kind,
                    char *const argv[], void (*tell)(const struct helper_event *event));

/* Starts the helper. `lock`: a descriptor that the helper shares; -1: none. False: errno says
 * why. */
bool helper_start(struct helper *helper, int lock);

/* Ends the helper, which is not started again, and forgets the messages without an answer. */
void helper_stop(struct helper *helper);

/* helper_begin: begins a message with op= and id=. If the helper dies `tries` times while it has
 * this message to answer first, the answer is HELPER_NO. A message with one try is only for the
 * process that runs now: a later process never gets this message, even if the present process has
 * not read it. helper_text returns the text of the message, to which the caller adds more keys. */
struct message *helper_begin(const char *op, int tries);
struct paragraph_output *helper_text(struct message *message);

/* Adds a descriptor to the message. The caller still owns fd, and must keep it open until the
 * answer. */
void helper_carry(struct message *message, int fd);

/* Sends the message, with one more descriptor or -1. The descriptor goes along only the first time:
 * if the message is repeated, the helper opens the object itself. Returns the id that the answer
 * will carry. */
uint64_t helper_finish(struct helper *helper, struct message *message, int pidfd);

/* For the start and the end of the broker: waits until all messages are answered, at most
 * `seconds`. Drops all answers except the last one, *last. */
bool helper_drain(struct helper *helper, int seconds, struct helper_event *last);

/* Returns the longest time `after` of the answers that helper_drain has dropped, ns; 0: none. After
 * this time, a message whose answer was PENDING can be repeated, and the kernel no longer counts
 * the former bandwidth of any thread. */
int64_t helper_owed(struct helper *helper);

#endif
