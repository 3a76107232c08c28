#include "inotify-let-go.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 4096, ENDS = 16 };

/* The stacks of those who only end. The kernel clears `user` when its process has left our memory (CLONE_CHILD_CLEARTID): not before that may another one
 * have it, in this thread or in others. */
static struct ending {
    _Atomic pid_t user;
    char stack[STACK] __attribute__((aligned(64)));
} endings[ENDS];

struct leaving {
    int events;
    struct ending *ending;
};

static struct ending *take_ending(void)
{
    for (int i = 0; i < ENDS; i++) {
        pid_t nobody = 0;
        if (atomic_compare_exchange_strong(&endings[i].user, &nobody, -1))
            return &endings[i];
    }
    return NULL;
}

static int end_now(void *unused)
{
    (void)unused;
    return 0;
}

/* A process of its own for the time that it takes to start another one, which nobody waits for: it is init's from then on. That one has the
 * inotify instance and nothing else, or who reads what the command writes would have to wait for it, too. */
static int leave_to_another(void *argument)
{
    const struct leaving *leaving = argument;
    const unsigned fd = (unsigned)leaving->events;
    if ((fd == 0 || close_range(0, fd - 1, 0) == 0) && close_range(fd + 1, ~0U, 0) == 0 &&
        clone(end_now, leaving->ending->stack + STACK, CLONE_VM | CLONE_CHILD_CLEARTID, NULL, NULL, NULL, &leaving->ending->user) > 0)
        return 0;
    atomic_store(&leaving->ending->user, 0);
    return 1;
}

/* The kernel lets an inotify instance go only when all CPUs have been seen to be done with it: whoever closes it last waits for 8 to
 * 16 ms, also in execve(2) and at its end. Nothing here is worth that; and no copy is made of our memory. */
void inotify_let_go(int events)
{
    char stack[STACK] __attribute__((aligned(64)));
    struct leaving leaving = {events, take_ending()};
    pid_t child = leaving.ending == NULL ? -1 : clone(leave_to_another, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &leaving);
    if (child < 0 && leaving.ending != NULL)
        atomic_store(&leaving.ending->user, 0);
    close(events);
    while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        ;
}
