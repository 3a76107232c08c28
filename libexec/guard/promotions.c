#include "promotions.h"

#include <errno.h>
#include <unistd.h>

#include "suspension.h"

/* The number of attachments that may be under way at once. A new entry overwrites the oldest entry:
 * the broker has had that thread guarded by then. */
enum { EXPECTED_MAX = 256 };
static struct expected {
    struct promotion who; /* tid 0: unused */
    struct overrun overrun;
    int64_t counted;
} expected[EXPECTED_MAX];
static unsigned next_place;
static int pipe_end = -1;

void promotions_from(int fd)
{
    if (pipe_end >= 0)
        close(pipe_end);
    pipe_end = fd;
}

void promotions_drain(void)
{
    struct promotion one;
    while (pipe_end >= 0 && read(pipe_end, &one, sizeof one) == (ssize_t)sizeof one)
        expected[next_place++ % EXPECTED_MAX] = (struct expected){.who = one};
}

int64_t promotions_forget(pid_t tid)
{
    int64_t counted = 0;
    for (int i = 0; i < EXPECTED_MAX; i++)
        if (expected[i].who.tid == tid) {
            counted = expected[i].counted > counted ? expected[i].counted : counted;
            expected[i].who.tid = 0;
        }
    return counted;
}

bool promotions_any(void)
{
    for (int i = 0; i < EXPECTED_MAX; i++)
        if (expected[i].who.tid != 0)
            return true;
    return false;
}

static void suspend(struct expected *one, int pidfd)
{
    const int64_t counted =
        suspend_deadline(&(struct target){one->who.tid, one->who.started_by, pidfd}, &one->overrun);
    if (counted > 0)
        one->counted = counted;
}

bool promotions_suspend(bool (*is_over)(pid_t), pid_t about)
{
    for (int i = 0; i < EXPECTED_MAX; i++) {
        struct expected *one = &expected[i];
        if (one->who.tid == 0)
            continue;
        const int pidfd = thread_open(one->who.tid);
        if (pidfd >= 0 && thread_is(one->who.tid, one->who.started_by))
            suspend(one, pidfd);
        else if (errno == ESRCH)
            one->who.tid = 0;
        if (pidfd >= 0)
            close(pidfd);
        if (is_over(about))
            return true;
    }
    return false;
}
