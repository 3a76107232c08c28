/* What follows from a grant and its plugin's line. */
#ifndef RTF_GRANTS_H
#define RTF_GRANTS_H

#include "reservation.h"

/* Of the plugin that granted its CPUs, or else the first claim, the guaranteed ones before the others; NULL of no grant. */
const char *grant_plugin_name(const struct grant *grant);

/* Has it CPU time, so that an attached thread is scheduled by it? */
bool grant_schedules(const struct grant *grant);

/* Whether rtf-guard enforces the runtime of this grant: the plugin's line has enforce=runtime, and the grant has a runtime and a period or a deadline. */
bool grant_is_enforced(const struct grant *grant);

/* The grant itself, which is in no books any more. NULL is fine. */
void grant_free(struct grant *grant);

/* Those of a list, and what the access rules' sums hold of them. */
void holdings_free(struct holding **holdings);

#endif
