/* Records when a thread ran, in bursts. A burst begins when the thread gets a CPU after a sleep,
 * and ends when the thread goes to sleep again. During a burst, other threads may have the CPU for
 * a time. Times are in ns of CLOCK_MONOTONIC. */
#ifndef RTF_LEARN_BURSTS_H
#define RTF_LEARN_BURSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct burst {
    int64_t begin, end;
    int64_t ran;      /* the CPU time of the burst */
    bool is_doubtful; /* `ran` may have a part of another burst */
};

/* The bursts of one thread, in the order of their times. A struct of zeros has no bursts yet. */
struct bursts {
    struct burst *list;
    size_t count, room;
    /* there were more bursts than fit into the list; the later bursts are missing */
    bool overflowed;
    /* The state of `open`, the burst that has begun and not ended. The beginning of a burst is
     * known only after a sleep, so the first burst begins after the first sleep. */
    bool has_slept, is_open, runs;
    int64_t since; /* while `runs`: when the thread got the CPU last */
    struct burst open;
};

/* Notes that the thread gets a CPU. */
void bursts_in(struct bursts *bursts, int64_t time);

/* Notes that the thread leaves its CPU. sleeps: the thread waits for something else than a CPU. */
void bursts_out(struct bursts *bursts, int64_t time, bool sleeps);

/* Adds a burst. */
void bursts_add(struct bursts *bursts, const struct burst *burst);

/* Forgets the burst that has begun, because events of the thread are lost. */
void bursts_lose(struct bursts *bursts);

/* Adds `ran` to the CPU time of the bursts from number `first` on, in equal parts. ran may be
 * negative. */
void bursts_correct(struct bursts *bursts, size_t first, int64_t ran);

/* Removes the oldest bursts. */
void bursts_forget(struct bursts *bursts, size_t count);

void bursts_free(struct bursts *bursts);

#endif
