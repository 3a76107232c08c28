/* What kinds of parts a broker has, and what is said about them. */
#ifndef RTF_PART_KIND_H
#define RTF_PART_KIND_H

#include <stdint.h>
#include <sys/types.h>

struct identity_to_run_as {
    uid_t uid;
    gid_t gid;
};

enum part_kind {
    PART_HELPER, /* root, to confine itself; takes its end by end-of-file, for it may be in the middle of a step */
    PART_GUARD,  /* root, to confine itself; it runs wherever something happens, not where the broker is */
    PART_NET,    /* root, to confine itself; takes its end by end-of-file */
    PART_DISK,   /* the same */
    PART_ADOPTER, /* root, to confine itself */
    PART_READER, /* the same; any number of them, one for a user's directory */
    PART_LOG,    /* root, to confine itself; ends at end-of-file, too, for there may be more to write */
    PART_PUBLISHER, /* root, to confine itself */
    PART_LOOKUP, /* unprivileged: a library that is part of the system, and may have to connect to a server */
    PART_PLUGIN, /* unprivileged: anybody's program */
};

enum { READERS_MAX = 65536 };

/* Of a plugin's CPU time, that of its own process, each PART_USES are told. */
enum { PART_USES = 10000000 }; /* ns */
struct part_used {
    int part;
    int64_t at, nanoseconds; /* CLOCK_MONOTONIC; how much since the last time */
};

#endif
