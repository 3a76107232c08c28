/* Reads an experiment from its text or its file. */
#ifndef RTF_MUSE_EXPERIMENT_FILE_H
#define RTF_MUSE_EXPERIMENT_FILE_H

#include "experiment.h"

/* Parses the text of an experiment. False: `why` says what is wrong, with key and line. Call
 * experiment_free in any case. compat: reads the text as the tool of paper 004 does. */
bool experiment_parse(const char *text, size_t length, enum reader reader, bool compat,
                      struct experiment *experiment, char why[static EXPERIMENT_WHY]);
bool experiment_read(const char *path, enum reader reader, bool compat,
                     struct experiment *experiment, char why[static EXPERIMENT_WHY]);
void experiment_free(struct experiment *experiment);

#endif
