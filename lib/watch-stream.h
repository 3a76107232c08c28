/* The format of the events that a user gets of their own threads. The events come over the
 * SOCK_SEQPACKET sockets `trace` and `why` of the spool. The events of `why` also tell causes
 * (RECORD_CALL and later kinds, and the members `wait` and `others`). The user's process connects,
 * and sends nothing. Each datagram to this process begins with a struct watch_head:
 *
 *   WATCH_REFUSED  count: an exit status; then a sentence. From the broker; nothing follows
 *   WATCH_BEGIN    struct watch_begin, then `count` thread ids: the recording has begun
 *   WATCH_NAMES    `count` struct watch_name: names of own threads
 *   WATCH_RECORDS  `count` struct record (libexec/watch/record.h), in the order of their times
 *   WATCH_END      struct watch_end, then for each CPU, how often its buffer had no room (64 bits)
 *
 * The recording ends when the user's process shuts its side down for writing (shutdown(2)). A
 * stream without WATCH_END is not complete. Both sides are of the same version and machine. */
#ifndef RTF_WATCH_STREAM_H
#define RTF_WATCH_STREAM_H

#include <stdint.h>

#define WATCH_SOCKET     "trace"
#define WATCH_WHY_SOCKET "why"

/* WATCH_THREADS: the largest number of a user's threads that are traced at a time. */
enum { WATCH_DATAGRAM = 48 << 10, WATCH_THREADS = 256, WATCH_NAME_BYTES = 16 };

enum watch_kind { WATCH_REFUSED = 1, WATCH_BEGIN, WATCH_NAMES, WATCH_RECORDS, WATCH_END };

struct watch_head {
    uint32_t kind, count;
};

struct watch_begin {
    int64_t time; /* ns, CLOCK_MONOTONIC */
    uint32_t cpus;
    uint16_t knows_timers; /* 0: there are no records about timers */
    uint16_t causes;       /* which causes the records tell (enum events_causes) */
};

struct watch_name {
    int32_t thread;
    char text[WATCH_NAME_BYTES];
};

struct watch_end {
    int64_t time;
};

#endif
