/* Watches a directory by a signal (fcntl(2), F_NOTIFY). The kernel ends such a watch at once, while
 * ending an inotify instance takes 8 to 16 ms, and the number of inotify instances of a user is
 * limited. Such a watch does not report a move of the directory itself.
 *
 * A watch belongs to one thread: the kernel sends the signal to that thread. The signal is blocked
 * in the thread during the watch, and pending signals are taken at the end, so that no handler
 * runs. */
#ifndef RTF_CLIENT_DNOTIFY_H
#define RTF_CLIENT_DNOTIFY_H

#include <signal.h>
#include <stdbool.h>

struct dnotify {
    int ready;       /* a descriptor for poll(2), readable after a change; -1: no watch */
    int directory;   /* a descriptor of the directory that only this watch uses */
    int number;      /* the signal's number */
    sigset_t former; /* the thread's signal mask before the watch */
};

#define NO_DNOTIFY ((struct dnotify){.ready = -1, .directory = -1})

/* The signal of a wait, and the signal of a wait within another wait. Both signals are blocked, and
 * no program sends them: SIGSTKFLT is unused on Linux, and SIGURG is ignored by default. Neither
 * signal is queued, so the signal queue cannot overflow. */
#ifdef SIGSTKFLT
enum { DNOTIFY_WAIT = SIGSTKFLT, DNOTIFY_BESIDE = SIGURG };
#else
enum { DNOTIFY_WAIT = SIGURG, DNOTIFY_BESIDE = SIGIO };
#endif

/* Begins to watch the directory. changes: DN_CREATE and so on. False with errno: the kernel cannot
 * do this, or the directory cannot be read. */
bool dnotify_begin(struct dnotify *watch, int directory, int number, unsigned changes);

/* Forgets the changes until now. */
void dnotify_drain(const struct dnotify *watch);

void dnotify_end(struct dnotify *watch);

#endif
