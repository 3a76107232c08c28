/* Writes metrics as Prometheus text, or as OpenMetrics. The two formats differ in the names of
 * counters and facts, and OpenMetrics ends with the line # EOF. */
#ifndef RTF_METRICS_TEXT_H
#define RTF_METRICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A METRIC_FACT has the value 1. Its labels carry the information. */
enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM, METRIC_FACT };

/* name: without the endings _total and _info. The functions here add them to the names of counters
 * and facts where the format wants them. */
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
 * name. Different values never have the same result. The result is printable ASCII: any other byte
 * becomes \xNN, and a backslash becomes two backslashes. After this, a backslash is put before each
 * backslash and quote, as both formats require. The caller frees the text. */
char *metrics_labels(const struct label *labels);

/* Begins this metric: the samples that follow belong to it. A metric without samples is not
 * written. */
void metrics_family(const struct metric *metric);

/* labels: a result of metrics_labels. value: a decimal number. NULL: the value is not known, and
 * the function writes nothing. */
void metrics_sample(const char *labels, const char *value);

/* Writes a sample of a histogram: suffix "_bucket", "_sum" or "_count". */
void metrics_part(const char *suffix, const char *labels, const char *value);

/* metrics_number writes a number. The other two functions write a time in us or ns as seconds, such
 * as "0.005000" for 5000 us. All return `text`. */
char *metrics_number(uint64_t number, char text[static METRIC_VALUE]);
char *metrics_microseconds(uint64_t us, char text[static METRIC_VALUE]);
char *metrics_nanoseconds(uint64_t ns, char text[static METRIC_VALUE]);

/* Returns `text` if it is a decimal number, as both formats allow; else NULL. text may be NULL. */
const char *metrics_decimal(const char *text);

#endif
