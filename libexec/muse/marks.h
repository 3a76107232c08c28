/* Marks: when each job began, and where. From a file of lines `thread,start_us,cpu,job` or from what the load program has written.
 *
 * The window is the time in which all threads of the experiment can be compared: from the last first mark to the first last one (the
 * paper's tool; the paper does not say). A thread that comes or falls silent more than a tenth of the duration before or after the others is
 * starved, and no reason to look away: it does not narrow the window, and its silence counts. */
#ifndef RTF_MUSE_MARKS_H
#define RTF_MUSE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mark.h"

enum { MARKS_WHY = 256, LOST_AT_ONCE_MAX = 1 << 20, JOBS_MAX = 1 << 26 };

/* As they were recorded: sorted by job, each job once. */
struct record {
    struct mark *at;
    size_t count, room;
};

struct records {
    struct record *threads;
    size_t count;
};

/* What is analysed of a thread: the beginnings of all its jobs in the window, with those of lost marks interpolated. */
struct sequence {
    int64_t *times; /* ns */
    size_t count;
    const struct mark *seen; /* those that were not lost */
    size_t seen_count, lost;
    int64_t late, silent; /* how long it was not heard of at the window's ends, if it is starved there; ns */
};

struct window {
    int64_t start, end; /* ns */
};

bool records_make(struct records *records, size_t threads);
bool records_add(struct record *record, struct mark mark);

/* Lines of text; an optional first line with the columns' names; empty lines and those that begin with # are ignored. */
bool records_parse(const char *text, size_t length, struct records *records, char why[static MARKS_WHY]);

/* To be called once all is added: sorts, and finds what cannot be. */
bool records_check(struct records *records, char why[static MARKS_WHY]);

/* `patience`: a silence that is longer is starvation. */
struct window window_of(const struct records *records, int64_t patience);

/* False: out of memory, or too much is lost to be made up. */
bool sequence_make(const struct record *record, struct window window, int64_t patience, struct sequence *sequence, char why[static MARKS_WHY]);

void sequence_free(struct sequence *sequence);
void records_free(struct records *records);

#endif
