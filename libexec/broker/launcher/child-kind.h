/* The kinds of children that a broker has. "root, to confine itself": the child starts as root, so
 * that it can give up all rights that it does not need. */
#ifndef RTF_CHILD_KIND_H
#define RTF_CHILD_KIND_H

#include <stdint.h>
#include <sys/types.h>

struct identity_to_run_as {
    uid_t uid;
    gid_t gid;
};

enum child_kind {
    /* root, to confine itself; the broker ends it by end-of-file, because it must not be killed in
     * the middle of a step */
    CHILD_HELPER,
    /* root, to confine itself; it may run on any CPU, not only on the broker's CPU */
    CHILD_GUARD,
    CHILD_NET,     /* root, to confine itself; end-of-file ends it */
    CHILD_DISK,    /* like CHILD_NET */
    CHILD_TASKS,   /* root, to confine itself */
    CHILD_WATCH,   /* root, to confine itself */
    CHILD_ADOPTER, /* root, to confine itself */
    CHILD_READER,  /* root, to confine itself; one for each user's directory */
    /* root, to confine itself; the broker ends it by end-of-file, because it may have more to
     * write */
    CHILD_LOG,
    CHILD_PUBLISHER, /* root, to confine itself */
    CHILD_PROGRAMS,  /* root, to become each user in turn; it ends when it has done its work */
    CHILD_LOOKUP,    /* unprivileged: the account database, which may have to connect to a server */
    CHILD_PLUGIN,    /* unprivileged: a plugin, any program */
};

enum { READERS_MAX = 65536 };

/* The launcher reports each CHILD_USES of CPU time that a plugin's process uses. */
enum { CHILD_USES = 10000000 }; /* ns */
struct child_used {
    int child;
    int64_t at, nanoseconds; /* at: CLOCK_MONOTONIC; nanoseconds: CPU time since the last report */
};

#endif
