/* Writes metrics as Prometheus text, or as OpenMetrics. The two formats name counters and facts
 * differently, and OpenMetrics has a last line. */
#ifndef RTF_METRICS_TEXT_H
#define RTF_METRICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* FACT: a sample with the value 1, whose labels have the information. */
enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM, METRIC_FACT };

/* name: without _total and _info, which the formats put behind the names of counters and facts. */
struct metric {
    const char *name;
    enum metric_type type;
    const char *help;
};

/* value NULL: there is no such label. */
struct label {
    const char *name, *value;
};

enum { METRIC_VALUE = 48 };

/* Call metrics_begin before all other functions of this header, and metrics_end after them. */
void metrics_begin(FILE *stream, bool openmetrics);
void metrics_end(void);

/* Returns {NAME="VALUE",...}; "": there is no label. The list of labels ends with a label without a
 * name. Each text has another result, and the result is printable ASCII: a byte that is not is
 * \xNN, and a backslash is two backslashes; then both formats put a backslash before each backslash
 * and quote. The caller frees the text. */
char *metrics_labels(const struct label *labels);

/* The following samples are of this metric. A metric without samples is not written. */
void metrics_family(const struct metric *metric);

/* labels: a result of metrics_labels. value: a decimal number; NULL: the value is not known, and nothing is
 * written. */
void metrics_sample(const char *labels, const char *value);

/* Writes a sample of a histogram: suffix "_bucket", "_sum" or "_count". */
void metrics_part(const char *suffix, const char *labels, const char *value);

/* Write a number, and a time in us or ns as seconds: "0.005000" for 5000 us. Return text. */
char *metrics_number(uint64_t number, char text[static METRIC_VALUE]);
char *metrics_microseconds(uint64_t us, char text[static METRIC_VALUE]);
char *metrics_nanoseconds(uint64_t ns, char text[static METRIC_VALUE]);

/* Returns text if it is a decimal number, which the formats take; else NULL. text may be NULL. */
const char *metrics_decimal(const char *text);

#endif
