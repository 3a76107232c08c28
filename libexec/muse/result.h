/* What was measured, for programs and for people: result.json and tables of the functions in a directory (muse(5)). */
#ifndef RTF_MUSE_RESULT_H
#define RTF_MUSE_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "experiment.h"
#include "measure.h"

enum { RESULT_WHY = 256, SENTENCE = 256 };

/* `run`: what the load program has written of its run, or NULL. The caller frees it. */
json_t *result_make(const struct experiment *experiment, const struct measurement *measurement, const json_t *run);

/* Into the directory, each file in one instant. */
bool result_write(int directory, const struct experiment *experiment, const struct measurement *measurement, const json_t *result, char why[static RESULT_WHY]);

/* A table, and a sentence for each thread. */
void result_print(const json_t *result);

#endif
