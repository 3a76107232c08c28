/* The floor: the cost of a spec and its verdict if nothing is decided. A process of root answers
 * files in a user's directory as the broker does, with the same system calls for each part and
 * without any other work. */
#ifndef RTF_BENCH_FLOOR_H
#define RTF_BENCH_FLOOR_H

#include <stdbool.h>
#include <sys/types.h>

/* Reads a file renamed to b.json, and puts b.verdict. Meanwhile sends a line to a co-process and
 * reads one; appends a record to a journal; parses the file and composes the answer with
 * jansson. */
enum floor_parts {
    FLOOR_SPOOL = 0,
    FLOOR_COPROCESS = 1,
    FLOOR_JOURNAL = 2,
    FLOOR_JSON = 4,
    FLOOR_ALL = 7
};

/* Makes `directory` for `uid` and serves it until killed; `stage` is on the same file system. */
pid_t floor_start(const char *directory, const char *stage, uid_t uid, unsigned parts);

#endif
