/* A helper: a small program that does one thing to the machine, as the broker sees it. It reads
 * paragraphs from a socket and answers them in order (rtf-attach --serve, rtf-net --serve). All of
 * them may be said twice, so when it dies or hangs it is started again and told what it had not
 * answered. */
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
    /* PENDING: ns until it can be said again; 0: when the thread runs. OK: so long the kernel
     * counts what it had */
    int64_t after;
    /* the receiver's; -1: none. OK to what is about a grant that grant_is_enforced: its budget */
    int watch;
};

/* One that has not been sent yet, or not been answered. */
struct message;
TAILQ_HEAD(message_list, message);

struct helper {
    struct program_description is; /* is.name: "the attach helper" */
    struct program program;
    struct message_list messages;
    struct message *unsent;       /* the first; NULL: none */
    struct helper_event *drained; /* where answers go instead of `tell`; NULL */
    int64_t owed;
    void (*tell)(const struct helper_event *event);
    /* it has been started again, and comes to what it has not answered; NULL */
    void (*again)(void);
};

/* Before the launcher is forked: tells it about the program. Then what is in *helper does not
 * move. */
void helper_prepare(struct helper *helper, const char *name, enum child_kind kind,
                    char *const argv[], void (*tell)(const struct helper_event *event));

/* `lock` is shared with it; -1: none. False with errno. */
bool helper_start(struct helper *helper, int lock);

/* Forgets the questions without an answer; nothing starts the helper again. */
void helper_stop(struct helper *helper);

/* A message with op= and id=; over one of them the helper may die so many times, then it is
 * answered by HELPER_NO. With one try it is for the process that runs now: another one is not told,
 * even if that one has not got so far. */
struct message *helper_begin(const char *op, int tries);
struct paragraph_output *helper_text(struct message *message);

/* fd stays the caller's, open until the answer. */
void helper_carry(struct message *message, int fd);

/* Sends it, with one more descriptor, or -1, that goes along once only: said again, the helper
 * looks for itself. Returns the id that the answer will carry. */
uint64_t helper_finish(struct helper *helper, struct message *message, int pidfd);

/* At start and at the end, when there is nothing else to do: waits until everything is answered, at
 * most `seconds`. Answers are dropped, but for the last one, in *last. */
bool helper_drain(struct helper *helper, int seconds, struct helper_event *last);

/* After this time, ns, something of what was drained has to be said again, or leaves the kernel's
 * account; 0: nothing. */
int64_t helper_owed(struct helper *helper);

#endif
