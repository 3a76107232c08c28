#include "expected.h"

#include <unistd.h>

#include "suspend.h"

/* So many attachments may be under way; the oldest makes room: whoever is promoted has by then been heard of. */
enum { EXPECTED_MAX = 256 };
static struct expectation expected[EXPECTED_MAX]; /* tid 0: none */
static unsigned next_place;
static int pipe_end = -1;

void expected_from(int fd)
{
    if (pipe_end >= 0)
        close(pipe_end);
    pipe_end = fd;
}

void expected_drain(void)
{
    struct expectation one;
    while (pipe_end >= 0 && read(pipe_end, &one, sizeof one) == (ssize_t)sizeof one)
        expected[next_place++ % EXPECTED_MAX] = one;
}

void expected_forget(pid_t tid)
{
    for (int i = 0; i < EXPECTED_MAX; i++)
        if (expected[i].tid == tid)
            expected[i].tid = 0;
}

bool expected_any(void)
{
    for (int i = 0; i < EXPECTED_MAX; i++)
        if (expected[i].tid != 0)
            return true;
    return false;
}

bool expected_suspend(bool (*is_over)(pid_t), pid_t about)
{
    for (int i = 0; i < EXPECTED_MAX; i++) {
        if (expected[i].tid == 0)
            continue;
        const int pidfd = thread_open(expected[i].tid);
        if (pidfd >= 0 && thread_is(expected[i].tid, expected[i].started_by))
            suspend_deadline(&(struct target){expected[i].tid, expected[i].started_by, pidfd}, &(struct overrun){0});
        else
            expected[i].tid = 0;
        if (pidfd >= 0)
            close(pidfd);
        if (is_over(about))
            return true;
    }
    return false;
}
