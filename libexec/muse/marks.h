/* Reads and checks marks. A mark says when, and on which CPU, a job began. Marks come from a file
 * of lines `thread,start_us,cpu,job`, or from the files of the load program.
 *
 * The window is the time in which all threads can be compared. It lasts from the latest first mark
 * of a thread to the earliest last mark of a thread (as in the tool of paper 004; the paper does
 * not define the window). A thread counts as starved if its first mark is late, or its last mark is
 * early, by more than a tenth of the duration, compared with the other threads. Such a thread does
 * not narrow the window, and its time without marks counts in the result. */
#ifndef RTF_MUSE_MARKS_H
#define RTF_MUSE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mark.h"

enum { MARKS_WHY = 256, LOST_AT_ONCE_MAX = 1 << 20, JOBS_MAX = 1 << 26 };

/* The recorded marks of one thread, sorted by job. Each job is there once. */
struct record {
    struct mark *at;
    size_t count, room;
};

struct records {
    struct record *threads;
    size_t count;
};

/* The part of a thread's marks that is analysed: the beginnings of all jobs in the window, with
 * lost marks interpolated. */
struct sequence {
    int64_t *times; /* ns */
    size_t count;
    const struct mark *seen; /* the recorded marks */
    size_t seen_count, lost;
    /* for a starved thread: the time without a mark at the window's beginning (late) and end
     * (silent), ns */
    int64_t late, silent;
};

struct window {
    int64_t start, end; /* ns */
};

bool records_make(struct records *records, size_t threads);
bool records_add(struct record *record, struct mark mark);

/* Parses lines of text. A first line with column names, empty lines, and lines that begin with #
 * are ignored. */
bool records_parse(const char *text, size_t length, struct records *records,
                   char why[static MARKS_WHY]);

/* Sorts the marks and finds contradictions. Call this after all marks are added. False: *why. */
bool records_check(struct records *records, char why[static MARKS_WHY]);

/* Returns the window of the marks. patience: a thread without marks for longer than this (ns) at
 * the beginning or the end is starved. */
struct window window_of(const struct records *records, int64_t patience);

/* Makes the sequence of a thread. False: out of memory, or too many marks are lost. */
bool sequence_make(const struct record *record, struct window window, int64_t patience,
                   struct sequence *sequence, char why[static MARKS_WHY]);

void sequence_free(struct sequence *sequence);
void records_free(struct records *records);

#endif
