/* Fuzzes marks of another recorder, and lines of a trace: all accepted input can be measured, and
 * no lower bound is above its upper bound. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "muse/events.h"
#include "muse/experiment-file.h"
#include "muse/measure.h"

enum { JOBS_OF_INTEREST = 3000 }; /* more would only take longer */

static bool take(void *argument, struct mark mark)
{
    (void)mark;
    return --*(int *)argument > 0;
}

static void follow(const char *text, size_t length)
{
    struct followed followed = {.tid = 1};
    char *lines = strndup(text, length), *rest = lines, *line;
    int marks = 1000;
    must(lines != NULL);
    while ((line = strsep(&rest, "\n")) != NULL &&
           events_take_line(line, &followed, 0, take, &marks))
        ;
    free(lines);
}

static bool is_small(const struct records *records)
{
    uint64_t jobs = 0;
    for (size_t i = 0; i < records->count; i++)
        if (records->threads[i].count > 0)
            jobs += records->threads[i].at[records->threads[i].count - 1].job -
                    records->threads[i].at[0].job + 1;
    return jobs < JOBS_OF_INTEREST;
}

static void judge(const struct measured *measured)
{
    if (measured->supply.rate == 0)
        return;
    must(measured->lower.alpha >= 0 && measured->lower.alpha <= measured->supply.rate + 1e-9);
    must(measured->upper.alpha > 0 && measured->upper.alpha <= measured->supply.rate + 1e-9);
    must(measured->lower.delta >= -1e-3 && measured->upper.delta <= 1e-3);
    must(measured->joint.alpha > 0 &&
         measured->joint.delta_lower >= measured->joint.delta_upper - 1e-3);
}

static void measure_all(const struct experiment *experiment, struct records *records)
{
    struct measurement measurement;
    char why[MARKS_WHY] = "";
    if (measure(experiment, records, experiment->horizon, &measurement, why)) {
        for (size_t i = 0; i < measurement.thread_count; i++)
            judge(&measurement.threads[i]);
        judge(&measurement.global);
    } else
        must_be_text(why, sizeof why);
    measurement_free(&measurement);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const char text[] =
        "{\"global\": {\"duration\": \"1s\", \"analysis\": {\"supply\": true}}, \"threads\": {"
        "\"a\": {\"phases\": {\"c\": {\"loops\": 1}}, \"cpus\": [0, 1], \"analysis\": {\"supply\": true, \"statistical\": true}},"
        "\"b\": {\"phases\": {\"c\": {\"loops\": 1}}, \"cpus\": [0, 1], \"nominal\": \"1us\", \"analysis\": {\"supply\": true}},"
        "\"c\": {\"phases\": {\"c\": {\"loops\": 1}}}}}";
    static struct experiment experiment;
    struct records records;
    char why[EXPERIMENT_WHY];
    if (experiment.json == NULL)
        must(experiment_parse(text, sizeof text - 1, READ_TO_ANALYSE, false, &experiment, why));
    must(records_make(&records, experiment.thread_count));
    if (!records_parse((const char *)bytes, length, &records, why) || !records_check(&records, why))
        must_be_text(why, sizeof why);
    else if (is_small(&records))
        measure_all(&experiment, &records);
    records_free(&records);
    follow((const char *)bytes, length);
    return 0;
}
