#include "asked.h"

#include <pthread.h>

enum { THREADS = 128 };

/* A child after fork(2) has the entries of its parent. These entries do no harm, because the
 * child's threads have other ids. */
static struct {
    pthread_mutex_t lock;
    unsigned next; /* the entry that a new thread takes if no entry is free */
    struct {
        pid_t thread; /* 0: a free entry */
        int policy, priority;
    } of[THREADS];
} asked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned find(pid_t thread)
{
    unsigned i = 0;
    while (i < THREADS && asked.of[i].thread != thread)
        i++;
    return i;
}

void asked_remember(pid_t thread, int policy, int priority)
{
    pthread_mutex_lock(&asked.lock);
    unsigned i = find(thread);
    if (i == THREADS)
        /* overwrites the oldest entry: the thread of that entry reads the kernel's values from now
         * on */
        i = asked.next++ % THREADS;
    asked.of[i].thread = thread;
    asked.of[i].policy = policy;
    asked.of[i].priority = priority;
    pthread_mutex_unlock(&asked.lock);
}

void asked_forget(pid_t thread)
{
    pthread_mutex_lock(&asked.lock);
    const unsigned i = find(thread);
    if (i < THREADS)
        asked.of[i].thread = 0;
    pthread_mutex_unlock(&asked.lock);
}

bool asked_recall(pid_t thread, int *policy, int *priority)
{
    pthread_mutex_lock(&asked.lock);
    const unsigned i = find(thread);
    if (i < THREADS) {
        *policy = asked.of[i].policy;
        *priority = asked.of[i].priority;
    }
    pthread_mutex_unlock(&asked.lock);
    return i < THREADS;
}
