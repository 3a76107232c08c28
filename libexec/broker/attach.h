/* The attach helper as the broker sees it: rtf-attach --serve, the only program that can schedule. Messages
 * are answered in order. All of them may be said twice, so when the helper dies or hangs it is started again
 * and told what it had not answered. */
#ifndef RTF_ATTACH_H
#define RTF_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "wish.h"

enum helper_answer { HELPER_OK, HELPER_GONE, HELPER_NO, HELPER_BUSY };

struct helper_event {
    uint64_t id;
    enum helper_answer answer;
    char reason[REASON_BYTES]; /* NO, BUSY */
};

/* `lock` is shared with it. False with errno. */
bool helper_start(const char *program, int lock);
void helper_stop(void);

/* Each returns the id that the answer will carry. wish_fd stays the caller's and must stay open till then. */
uint64_t helper_apply(pid_t tid, uint64_t start, const struct attributes *plan, int wish_fd);
uint64_t helper_adjust(pid_t tid, uint64_t start, const struct attributes *plan);

/* The plan once more, whatever the thread's policy is now: restore to what is granted. */
uint64_t helper_apply_again(pid_t tid, uint64_t start, const struct attributes *plan);
uint64_t helper_restore(pid_t tid, uint64_t start, const struct attributes *former);
uint64_t helper_rt_runtime(const char *value);

void helper_ready(void);
bool helper_receive(struct helper_event *event);
int64_t helper_deadline(void);
void helper_expire(int64_t now);

/* At start and at the end, when there is nothing else to do: waits until everything is answered, at most
 * `seconds`. Answers are dropped, but for the last one, in *last. */
bool helper_drain(int seconds, struct helper_event *last);

#endif
