/* The marks of jobs. A program writes a line into the FIFO .jobs/NAME of the user's directory when
 * a job ends: "RELEASE END" or "RELEASE END DEADLINE", in us. RELEASE and END are times of
 * CLOCK_MONOTONIC, DEADLINE is relative to RELEASE. Only rtf-usage(1) and rtf-why(1) read the FIFO. The directory
 * .jobs is not watched by the broker, so marks wake nobody. */
#ifndef RTF_USAGE_MARKS_H
#define RTF_USAGE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MARK_BYTES = 80 };

/* Times are us. */
struct marks {
    int fifo; /* -1: closed */
    int directory;
    const char *name;
    bool is_made;  /* marks_open has made the FIFO, and marks_close removes it */
    int64_t since; /* jobs that ended before this time do not count */
    uint64_t deadline;
    char rest[MARK_BYTES]; /* the beginning of a line whose end is still missing */
    size_t rest_length;
    bool is_too_long;             /* the line that begins with `rest` is too long for a mark */
    uint64_t jobs, missed, wrong; /* wrong: lines that are no marks */
    uint64_t worst;               /* the longest time from the release of a job to its end */
    /* called for each job, if not NULL; deadline: relative to the release */
    void (*each)(void *context, int64_t release, int64_t end, int64_t deadline);
    void *context;
};

/* Opens the directory .jobs of the user's directory, and makes the directory if necessary. Returns
 * a descriptor; -1 with errno if this fails. */
int marks_directory(int specs, const char *user);

/* Makes and opens the FIFO. False: marks->fifo is -1, and *why says why. `name` must live as long
 * as the marks. */
bool marks_open(struct marks *marks, int directory, const char *name, uint64_t deadline,
                const char **why);

/* Reads the marks in the FIFO. One call reads no more than a pipe holds, so that a program that
 * writes all the time does not keep this process busy. */
void marks_read(struct marks *marks);

void marks_take(struct marks *marks, const char *text, size_t length);
void marks_close(struct marks *marks);

#endif
