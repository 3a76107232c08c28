/* Prints what rtf-learn(1) has learned. */
#ifndef RTF_LEARN_REPORT_H
#define RTF_LEARN_REPORT_H

#include "learn-result.h"

/* Returns why a thread has no period, such as "hog: it never sleeps"; "": the thread is
 * periodic. */
const char *learn_report_word(enum behaviour behaviour);

/* Prints a table of the threads, and the spec (NULL: none) as the last line. */
void learn_report_text(const struct learned *learned, const json_t *spec);

/* Prints one JSON object. False: there is no memory. */
bool learn_report_json(const struct learned *learned, pid_t process, json_t *spec);

#endif
