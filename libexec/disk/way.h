/* How what is granted of a disk is kept: its processes have groups with a share (groups.h), or its threads come first (hold.h). What both have in common
 * is here. */
#ifndef RTF_WAY_H
#define RTF_WAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper-loop.h"
#include "thread.h"

enum { CLASS_LEAST = 0x10, CLASS_MOST = 0xffff };

/* A thread and its reservation's class, as the broker names them. The id is that of a thread which had started by then, or somebody else's. */
struct member {
    uint16_t class;
    pid_t tid;
    uint64_t started_by;
    uid_t owner;
    int former; /* its I/O priority before it came first; -1: not said */
};

struct way {
    /* From here on no other process can; false: one does. All that is below is for who holds it. False or REFUSED: *reason. */
    bool (*hold)(char reason[static SERVE_REASON]);

    /* Of a disk, by its number, whose scheduler is bfq. */
    bool (*begin)(const char *number, char reason[static SERVE_REASON]);
    void (*end)(const char *number);

    /* A class with so much of a disk: rate in bytes a second, block in bytes, share in billionths. It goes with drop, or settle, if it is not to be kept;
     * with errno, ETIMEDOUT if those who are in it start processes faster than they can be found. */
    bool (*add)(uint16_t class, const char *number, uint64_t rate, uint64_t block, uint64_t share, char reason[static SERVE_REASON]);
    bool (*drop)(uint16_t class, char reason[static SERVE_REASON]);
    bool (*settle)(bool (*keep)(uint16_t class), char reason[static SERVE_REASON]);

    /* Nothing is left. */
    bool (*dissolve)(char reason[static SERVE_REASON]);

    /* If it is its owner's own; root's may be anybody's. Not to be had any more: GONE. */
    enum done (*bind)(const struct member *member, char reason[static SERVE_REASON]);
    enum done (*unbind)(const struct member *member, char reason[static SERVE_REASON]);

    /* What it needs beside CAP_SYS_PTRACE and what any helper calls. */
    int power;
    const char *const *calls;
};

/* Only one broker of the machine may have this: its lock (register.h) ends with its holder. A holder that is just ending may be putting things back, and is
 * waited for once. */
bool way_hold(const char *lock, char reason[static SERVE_REASON]);

/* DONE: it is that thread still. bind: and its owner's own. */
enum done way_identify(const struct member *member, bool bind, struct identity *identity, char reason[static SERVE_REASON]);

/* What could not be had of a thread, by errno: GONE only if it has ended, and not if one cannot look. */
enum done way_failed(char reason[static SERVE_REASON], const char *what);

#endif
