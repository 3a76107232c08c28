/* The rules min_runtime bound the least runtime that a spec may state. `min_runtime tick` does not
 * bound plugins whose runtimes are ended by a high-resolution timer, and not by the tick. */
#ifndef RTF_MIN_RUNTIME_H
#define RTF_MIN_RUNTIME_H

#include "acl-rules.h"

/* Refuses the request if a runtime of the spec, or of one of its modes, is less than the rule
 * allows. */
void judge_least_runtime(struct question *question, const struct rule *rule);

#endif
