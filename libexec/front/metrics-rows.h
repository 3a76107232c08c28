/* The metrics of single reservations, for rtf-metrics(1): from the broker's journal for root, from
 * the user's own verdicts for other users, and from the kernel. */
#ifndef RTF_METRICS_ROWS_H
#define RTF_METRICS_ROWS_H

#include <jansson.h>
#include <stdbool.h>

#include "client.h"

/* Reads the reservations of all users. False: the journal cannot be read, or does not belong to
 * root. */
bool metric_rows_read_all(int root);

/* Reads the reservations of the user. */
void metric_rows_read_own(const struct client *client);

/* Writes how many specs are in each state. */
void metric_rows_write_states(void);

/* Writes the metrics of each reservation. status: the content of status.json; NULL: there is none.
 * served: a broker serves the spool, so the thread that a verdict names is still the attached
 * thread. counted: counters_begin has returned true. */
void metric_rows_write(const json_t *status, bool served, bool counted);

#endif
