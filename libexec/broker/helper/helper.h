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
    char reason[HELPER_REASON]; /* NO, BUSY */
    /* PENDING: the time until the message can be repeated, ns; 0: when the thread runs. OK: the
     * time for which the kernel still counts the former bandwidth, ns */
    int64_t after;
    /* a descriptor, which the receiver closes; -1: none. With OK for an enforced grant
     * (grant_is_enforced): the budget of the thread */
    int watch;
};

/* A message that has not been sent yet, or not been answered. */
struct message;
TAILQ_HEAD(message_list, message);

struct helper {
    struct program_description is; /* is.name: "the attach helper" */
    struct program program;
    struct message_list messages;
    struct message *unsent;       /* the first; NULL: none */
    struct helper_event *drained; /* answers go here instead of to `tell`; NULL: to `tell` */
    int64_t owed;
    void (*tell)(const struct helper_event *event);
    /* called when the helper has been started again, before it gets the unanswered messages;
     * NULL */
    void (*again)(void);
};

/* Tells the launcher about the program, before the launcher is forked. From then on *helper must
 * stay at its address. */
void helper_prepare(struct helper *helper, const char *name, enum child_kind kind,
                    char *const argv[], void (*tell)(const struct helper_event *event));

/* Starts the helper, which shares `lock` (-1: none). False with errno. */
bool helper_start(struct helper *helper, int lock);

/* Forgets the questions without an answer; nothing starts the helper again. */
void helper_stop(struct helper *helper);

/* A message with op= and id=. If the helper dies `tries` times at this message, the answer is
 * HELPER_NO. A message with one try is only for the process that runs now: a later process does not
 * get it, even if the present process has not read it. */
struct message *helper_begin(const char *op, int tries);
struct paragraph_output *helper_text(struct message *message);

/* The caller keeps fd, and keeps it open until the answer. */
void helper_carry(struct message *message, int fd);

/* Sends the message, with one more descriptor or -1. The descriptor goes along only the first time:
 * if the message is repeated, the helper opens the object itself. Returns the id that the answer
 * will carry. */
uint64_t helper_finish(struct helper *helper, struct message *message, int pidfd);

/* For the start and the end of the broker: waits until all messages are answered, at most
 * `seconds`. Drops all answers except the last one, *last. */
bool helper_drain(struct helper *helper, int seconds, struct helper_event *last);

/* The longest of the times `after` in the dropped answers, ns: after this time a dropped message
 * has to be repeated, or the kernel no longer counts a former bandwidth. 0: none. */
int64_t helper_owed(struct helper *helper);

#endif
