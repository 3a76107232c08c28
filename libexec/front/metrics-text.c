#include "metrics-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct {
    FILE *stream;
    bool openmetrics;
    const struct metric *metric;
    bool is_begun; /* the lines # HELP and # TYPE of the metric are written */
} out;

void metrics_begin(FILE *stream, bool openmetrics)
{
    out.stream = stream;
    out.openmetrics = openmetrics;
    out.metric = NULL;
}

void metrics_end(void)
{
    if (out.openmetrics)
        fputs("# EOF\n", out.stream);
}

/* ---- labels ---- */

static void write_byte(FILE *stream, unsigned char byte)
{
    if (byte == '\\')
        fputs("\\\\\\\\", stream);
    else if (byte == '"')
        fputs("\\\"", stream);
    else if (byte >= ' ' && byte <= '~')
        fputc(byte, stream);
    else
        fprintf(stream, "\\\\x%02x", byte);
}

static void write_label(FILE *stream, const struct label *label, bool is_first)
{
    fprintf(stream, "%c%s=\"", is_first ? '{' : ',', label->name);
    for (const char *at = label->value; *at != '\0'; at++)
        write_byte(stream, (unsigned char)*at);
    fputc('"', stream);
}

char *metrics_labels(const struct label *labels)
{
    char *written = NULL;
    size_t length;
    bool is_first = true;
    FILE *stream = open_memstream(&written, &length);
    if (stream == NULL)
        abort();
    for (; labels->name != NULL; labels++)
        if (labels->value != NULL) {
            write_label(stream, labels, is_first);
            is_first = false;
        }
    if (!is_first)
        fputc('}', stream);
    if (fclose(stream) != 0)
        abort();
    return written;
}

/* ---- samples ---- */

void metrics_family(const struct metric *metric)
{
    out.metric = metric;
    out.is_begun = false;
}

static const char *suffix_of(enum metric_type type)
{
    return type == METRIC_COUNTER ? "_total" : type == METRIC_FACT ? "_info" : "";
}

/* OpenMetrics names the family without _total and _info. Prometheus text has no type for facts, and
 * node_exporter(1) drops a file with an unknown type. */
static void begin_family(void)
{
    static const char *const types[] = {[METRIC_GAUGE] = "gauge",
                                        [METRIC_COUNTER] = "counter",
                                        [METRIC_HISTOGRAM] = "histogram",
                                        [METRIC_FACT] = "info"};
    const struct metric *metric = out.metric;
    const char *suffix = out.openmetrics ? "" : suffix_of(metric->type),
               *type = metric->type == METRIC_FACT && !out.openmetrics ? types[METRIC_GAUGE]
                                                                       : types[metric->type];
    fprintf(out.stream, "# HELP %s%s %s\n# TYPE %s%s %s\n", metric->name, suffix, metric->help,
            metric->name, suffix, type);
    out.is_begun = true;
}

void metrics_part(const char *suffix, const char *labels, const char *value)
{
    if (value == NULL)
        return;
    if (!out.is_begun)
        begin_family();
    fputs(out.metric->name, out.stream);
    fputs(suffix, out.stream);
    fputs(labels, out.stream);
    fputc(' ', out.stream);
    fputs(value, out.stream);
    fputc('\n', out.stream);
}

void metrics_sample(const char *labels, const char *value)
{
    metrics_part(suffix_of(out.metric->type), labels, value);
}

/* ---- values ---- */

char *metrics_number(uint64_t number, char text[static METRIC_VALUE])
{
    snprintf(text, METRIC_VALUE, "%" PRIu64, number);
    return text;
}

char *metrics_microseconds(uint64_t us, char text[static METRIC_VALUE])
{
    snprintf(text, METRIC_VALUE, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
    return text;
}

char *metrics_nanoseconds(uint64_t ns, char text[static METRIC_VALUE])
{
    snprintf(text, METRIC_VALUE, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
    return text;
}

const char *metrics_decimal(const char *text)
{
    static const char digits[] = "0123456789";
    if (text == NULL)
        return NULL;
    const size_t whole = strspn(text, digits);
    if (whole > 0 && text[whole] == '\0')
        return text;
    const size_t part = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
    return whole > 0 && part > 0 && text[whole + 1 + part] == '\0' ? text : NULL;
}
