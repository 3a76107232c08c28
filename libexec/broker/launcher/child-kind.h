/* What kinds of children a broker has, and what is said about them. */
#ifndef RTF_CHILD_KIND_H
#define RTF_CHILD_KIND_H

#include <stdint.h>
#include <sys/types.h>

struct identity_to_run_as {
    uid_t uid;
    gid_t gid;
};

enum child_kind {
    CHILD_HELPER, /* root, to confine itself; takes its end by end-of-file, for it may be in the middle of a step */
    CHILD_GUARD,  /* root, to confine itself; it runs wherever something happens, not where the broker is */
    CHILD_NET,    /* root, to confine itself; takes its end by end-of-file */
    CHILD_DISK,   /* the same */
    CHILD_ADOPTER, /* root, to confine itself */
    CHILD_READER, /* the same; any number of them, one for a user's directory */
    CHILD_LOG,    /* root, to confine itself; ends at end-of-file, too, for there may be more to write */
    CHILD_PUBLISHER, /* root, to confine itself */
    CHILD_LOOKUP, /* unprivileged: a library that is part of the system, and may have to connect to a server */
    CHILD_PLUGIN, /* unprivileged: anybody's program */
};

enum { READERS_MAX = 65536 };

/* Of a plugin's CPU time, that of its own process, each CHILD_USES are told. */
enum { CHILD_USES = 10000000 }; /* ns */
struct child_used {
    int child;
    int64_t at, nanoseconds; /* CLOCK_MONOTONIC; how much since the last time */
};

#endif
