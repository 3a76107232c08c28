/* The floor: what a spec and its verdict cost if nothing is decided. A process of root's answers files in a directory of a user's
 * as the broker does, with the same system calls for each part and without the rest. */
#ifndef RTF_BENCH_FLOOR_H
#define RTF_BENCH_FLOOR_H

#include <stdbool.h>
#include <sys/types.h>

/* A file renamed to b.json is read, and b.verdict put. And a line goes to a co-process and one comes back; a record is appended to
 * a journal; the file is parsed, and the answer composed, with jansson. */
enum floor_parts { FLOOR_SPOOL = 0, FLOOR_COPROCESS = 1, FLOOR_JOURNAL = 2, FLOOR_JSON = 4, FLOOR_ALL = 7 };

/* Serves `directory`, which it makes for `uid`, until it is killed; `stage` is on the same file system. */
pid_t floor_start(const char *directory, const char *stage, uid_t uid, unsigned parts);

#endif
