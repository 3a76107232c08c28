/* Hears of changes in a directory by a signal (fcntl(2), F_NOTIFY). To end that takes the kernel no time, where the end of an inotify instance takes it
 * 8 to 16 ms; and no limit of instances counts it. What moves the directory itself is not heard of. For one thread: the signal is sent to it,
 * blocked in it meanwhile, and taken from it at the end. Nobody else sees it. */
#ifndef RTF_CLIENT_HEAR_H
#define RTF_CLIENT_HEAR_H

#include <signal.h>
#include <stdbool.h>

struct hearing {
    int ready;     /* a descriptor for poll(2): something happened; -1: this is no hearing */
    int directory; /* a descriptor of our own of that directory */
    int number;    /* of the signal */
    sigset_t former;
};

#define NO_HEARING ((struct hearing){.ready = -1, .directory = -1})

/* The signal of a wait, and that of who waits within another wait. They are blocked signals that nobody sends: SIGSTKFLT is of no use on Linux, and who leaves SIGURG
 * alone ignores it. Neither is queued, so none can be lost. */
#ifdef SIGSTKFLT
enum { HEAR = SIGSTKFLT, HEAR_BESIDE = SIGURG };
#else
enum { HEAR = SIGURG, HEAR_BESIDE = SIGIO };
#endif

/* changes: DN_CREATE and so on. False with errno: the kernel cannot do it, or the directory cannot be read. */
bool hear(struct hearing *hearing, int directory, int number, unsigned changes);

/* What has happened until now is no news any more. */
void hear_anew(const struct hearing *hearing);

void hear_no_more(struct hearing *hearing);

#endif
