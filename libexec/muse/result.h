/* Makes the result of an analysis. Writes it into a directory as result.json and tables of the
 * functions (muse(5)), and prints it for people. */
#ifndef RTF_MUSE_RESULT_H
#define RTF_MUSE_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "experiment.h"
#include "measure.h"

enum { RESULT_WHY = 256, SENTENCE = 320 };

/* Makes the result as JSON, which the caller frees. run: the report of the load program, or
 * NULL. */
json_t *result_make(const struct experiment *experiment, const struct measurement *measurement,
                    const json_t *run);

/* Writes the files into the directory, each in one atomic step. False: *why. */
bool result_write(int directory, const struct experiment *experiment,
                  const struct measurement *measurement, const json_t *result,
                  char why[static RESULT_WHY]);

/* Prints a table, and sentences about each thread. */
void result_print(const json_t *result);

#endif
