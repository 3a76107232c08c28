#include "marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reason.h"

#define SPAN_MAX  (INT64_C(86400) * 1000000000)
#define TIME_MOST (INT64_MAX / 4)

bool records_make(struct records *records, size_t threads)
{
    *records =
        (struct records){.threads = calloc(threads, sizeof *records->threads), .count = threads};
    return records->threads != NULL;
}

bool records_add(struct record *record, struct mark mark)
{
    if (record->count == record->room) {
        size_t room = record->room == 0 ? 1024 : record->room * 2;
        struct mark *more = realloc(record->at, room * sizeof *more);
        if (more == NULL)
            return false;
        record->at = more;
        record->room = room;
    }
    record->at[record->count++] = mark;
    return true;
}

#define fault(why, ...) fault_in(why, MARKS_WHY, __VA_ARGS__)

/* ---- lines ---- */

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        (*at)++;
}

static bool take_digits(const char **at, const char *end, uint64_t most, uint64_t *number)
{
    const char *start = *at;
    uint64_t value = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
            return false;
    *number = value;
    return *at > start && value <= most;
}

/* Parses microseconds with up to three decimals. Further digits are cut off. */
static bool take_microseconds(const char **at, const char *end, int64_t *nanoseconds)
{
    uint64_t whole, part = 0;
    if (!take_digits(at, end, TIME_MOST / 1000, &whole))
        return false;
    if (*at < end && **at == '.') {
        int digits = 0;
        for ((*at)++; *at < end && **at >= '0' && **at <= '9'; (*at)++, digits++)
            part = digits < 3 ? part * 10 + (uint64_t)(**at - '0') : part;
        if (digits == 0)
            return false;
        for (; digits < 3; digits++)
            part *= 10;
    }
    *nanoseconds = (int64_t)(whole * 1000 + part);
    return true;
}

static bool take_comma(const char **at, const char *end)
{
    skip_blanks(at, end);
    if (*at == end || **at != ',')
        return false;
    (*at)++;
    skip_blanks(at, end);
    return true;
}

static bool take_line(const char *at, const char *end, struct mark *mark)
{
    uint64_t thread, cpu, job;
    bool good = take_digits(&at, end, UINT16_MAX, &thread) && take_comma(&at, end) &&
                take_microseconds(&at, end, &mark->time) && take_comma(&at, end) &&
                take_digits(&at, end, UINT16_MAX, &cpu) && take_comma(&at, end) &&
                take_digits(&at, end, UINT32_MAX - 1, &job);
    if (!good)
        return false;
    skip_blanks(&at, end);
    mark->cpu = (uint16_t)cpu;
    mark->job = (uint32_t)job;
    mark->thread = (uint16_t)(thread - 1);
    return at == end && thread >= 1;
}

bool records_parse(const char *text, size_t length, struct records *records,
                   char why[static MARKS_WHY])
{
    const char *end = text + length;
    size_t number = 1;
    for (const char *line = text; line < end; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line)),
                   *next = stop == NULL ? end : stop + 1;
        struct mark mark;
        stop = stop == NULL ? end : stop;
        skip_blanks(&line, stop);
        bool header = number == 1 && stop - line >= 6 && memcmp(line, "thread", 6) == 0;
        if (line < stop && *line != '#' && !header) {
            if (!take_line(line, stop, &mark))
                return fault(why,
                             "line %zu: this must be THREAD,START_US,CPU,JOB, as 1,250.125,0,7",
                             number);
            if (mark.thread >= records->count)
                return fault(why, "line %zu: there is no thread %d: the experiment has %zu", number,
                             mark.thread + 1, records->count);
            if (!records_add(&records->threads[mark.thread], mark))
                return fault(why, "line %zu: out of memory", number);
        }
        line = next;
    }
    return true;
}

/* ---- order ---- */

static int by_job(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    return (a->time > b->time) - (a->time < b->time);
}

static bool is_sorted(const struct record *record)
{
    for (size_t i = 1; i < record->count; i++)
        if (record->at[i].job <= record->at[i - 1].job)
            return false;
    return true;
}

/* Checks the order of a thread's marks. A mark may be there twice, because a datagram may arrive
 * twice; this is no contradiction. */
static bool check_record(struct record *record, size_t thread, char *why)
{
    size_t kept = record->count > 0;
    if (!is_sorted(record))
        qsort(record->at, record->count, sizeof *record->at, by_job);
    for (size_t i = 1; i < record->count; i++) {
        const struct mark *before = &record->at[kept - 1], *mark = &record->at[i];
        if (mark->job == before->job && mark->time == before->time)
            continue;
        if (mark->job == before->job)
            return fault(why, "thread %zu: job %u begins twice", thread + 1, mark->job);
        if (mark->time < before->time)
            return fault(why, "thread %zu: job %u begins before job %u", thread + 1, mark->job,
                         before->job);
        record->at[kept++] = *mark;
    }
    record->count = kept;
    return true;
}

bool records_check(struct records *records, char why[static MARKS_WHY])
{
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < records->count; i++) {
        struct record *record = &records->threads[i];
        if (!check_record(record, i, why))
            return false;
        if (record->count == 0)
            continue;
        first = record->at[0].time < first ? record->at[0].time : first;
        last =
            record->at[record->count - 1].time > last ? record->at[record->count - 1].time : last;
    }
    return last - first <= SPAN_MAX || first > last ||
           fault(why, "the marks are more than a day apart");
}

/* ---- the window ---- */

static int64_t first_of(const struct record *record)
{
    return record->at[0].time;
}

static int64_t last_of(const struct record *record)
{
    return record->at[record->count - 1].time;
}

struct window window_of(const struct records *records, int64_t patience)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < records->count; i++)
        if (records->threads[i].count > 0) {
            const struct record *record = &records->threads[i];
            first = first_of(record) < first ? first_of(record) : first;
            last = last_of(record) > last ? last_of(record) : last;
        }
    if (first > last)
        return (struct window){0, 0};
    struct window window = {first, last};
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->threads[i];
        if (record->count == 0)
            continue;
        if (first_of(record) - first <= patience && first_of(record) > window.start)
            window.start = first_of(record);
        if (last - last_of(record) <= patience && last_of(record) < window.end)
            window.end = last_of(record);
    }
    return window.start <= window.end ? window : (struct window){first, last};
}

/* ---- the analysed part ---- */

/* Returns the index of the first mark at or after `time`. */
static size_t lower_bound(const struct record *record, int64_t time)
{
    size_t low = 0, high = record->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (record->at[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t jobs_of(const struct sequence *sequence)
{
    return sequence->seen_count == 0
               ? 0
               : (size_t)(sequence->seen[sequence->seen_count - 1].job - sequence->seen[0].job) + 1;
}

/* Fills in the lost marks between two recorded marks, at equal distances, as paper 004 does. */
static void interpolate(const struct mark *from, const struct mark *to, int64_t *times)
{
    const int64_t steps = (int64_t)to->job - (int64_t)from->job, distance = to->time - from->time;
    for (int64_t i = 0; i < steps; i++)
        times[i] = from->time + (int64_t)((__int128)distance * i / steps);
}

/* Notes a long time without marks at the beginning (late) or the end (silent) of the window. A
 * thread without marks at the beginning could have begun its first job at the window's start. */
static void count_silence(const struct record *record, struct window window, int64_t patience,
                          struct sequence *sequence)
{
    int64_t late = first_of(record) - window.start, silent = window.end - last_of(record);
    sequence->late = late > patience ? late : 0;
    sequence->silent = silent > patience ? silent : 0;
    if (sequence->late > 0)
        sequence->times[0] = window.start;
}

bool sequence_make(const struct record *record, struct window window, int64_t patience,
                   struct sequence *sequence, char why[static MARKS_WHY])
{
    size_t first = lower_bound(record, window.start), end = lower_bound(record, window.end + 1);
    *sequence = (struct sequence){0};
    if (end > first) {
        sequence->seen = record->at + first;
        sequence->seen_count = end - first;
    }
    const size_t jobs = jobs_of(sequence), seen = sequence->seen_count;
    for (size_t i = 1; i < seen; i++)
        if (sequence->seen[i].job - sequence->seen[i - 1].job > LOST_AT_ONCE_MAX)
            return fault(why, "job %u comes after job %u: too many marks between them are lost",
                         sequence->seen[i].job, sequence->seen[i - 1].job);
    if (jobs > JOBS_MAX)
        return fault(why, "there are %zu jobs: not more than %d can be analysed", jobs, JOBS_MAX);
    sequence->count = jobs;
    sequence->lost = jobs - seen;
    sequence->times = malloc((jobs + 1) * sizeof *sequence->times);
    if (sequence->times == NULL)
        return fault(why, "out of memory");
    if (seen == 0)
        return true;
    for (size_t i = 0; i + 1 < seen; i++)
        interpolate(&sequence->seen[i], &sequence->seen[i + 1],
                    sequence->times + (sequence->seen[i].job - sequence->seen[0].job));
    sequence->times[jobs - 1] = sequence->seen[seen - 1].time;
    count_silence(record, window, patience, sequence);
    return true;
}

void sequence_free(struct sequence *sequence)
{
    free(sequence->times);
    *sequence = (struct sequence){0};
}

void records_free(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        free(records->threads[i].at);
    free(records->threads);
    *records = (struct records){0};
}
