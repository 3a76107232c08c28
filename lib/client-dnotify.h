/* Tells of changes in a directory by a signal (fcntl(2), F_NOTIFY). To end such a watch takes the kernel no time. To end an inotify instance takes it 8 to
 * 16 ms, and a limit counts the instances of a user. A move of the directory itself is not told. For one thread: the signal goes to that thread, is blocked
 * in it meanwhile, and is taken from it at the end. Nobody else sees it. */
#ifndef RTF_CLIENT_DNOTIFY_H
#define RTF_CLIENT_DNOTIFY_H

#include <signal.h>
#include <stdbool.h>

struct dnotify {
    int ready;     /* a descriptor for poll(2): something happened; -1: there is no watch */
    int directory; /* a descriptor of our own of that directory */
    int number;    /* of the signal */
    sigset_t former;
};

#define NO_DNOTIFY ((struct dnotify){.ready = -1, .directory = -1})

/* The signal of a wait, and the signal of a wait within another wait. Both are blocked, and nobody sends them: SIGSTKFLT is of no use on Linux, and SIGURG is
 * ignored where nobody handles it. Neither is queued, so none can be lost. */
#ifdef SIGSTKFLT
enum { DNOTIFY_WAIT = SIGSTKFLT, DNOTIFY_BESIDE = SIGURG };
#else
enum { DNOTIFY_WAIT = SIGURG, DNOTIFY_BESIDE = SIGIO };
#endif

/* changes: DN_CREATE and so on. False with errno: the kernel cannot do it, or the directory cannot be read. */
bool dnotify_begin(struct dnotify *watch, int directory, int number, unsigned changes);

/* Forgets what has happened until now. */
void dnotify_drain(const struct dnotify *watch);

void dnotify_end(struct dnotify *watch);

#endif
