/* The rules min_runtime: the least runtime that a spec may state. `min_runtime tick` means nothing
 * where a high-resolution timer, and not the tick, ends runtimes. */
#ifndef RTF_MIN_RUNTIME_H
#define RTF_MIN_RUNTIME_H

#include "acl-rules.h"

/* Refuses the request if a runtime of the spec, or of one of its modes, is less than the rule
 * allows. */
void judge_least_runtime(struct question *question, const struct rule *rule);

#endif
