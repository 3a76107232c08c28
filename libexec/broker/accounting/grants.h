/* Facts that follow from a grant and its plugin's line. */
#ifndef RTF_GRANTS_H
#define RTF_GRANTS_H

#include "reservation.h"

/* The plugin that granted the CPUs, or else the plugin of the first claim, guaranteed claims first;
 * NULL for a grant NULL. */
const char *grant_plugin_name(const struct grant *grant);

/* True: the grant has CPU time, which schedules an attached thread. */
bool grant_schedules(const struct grant *grant);

/* Whether rtf-guard enforces the runtime of this grant: the plugin's line has enforce=runtime, and
 * the grant has a runtime and a period or a deadline. */
bool grant_is_enforced(const struct grant *grant);

/* Frees a grant that is in no books any more. NULL is allowed. */
void grant_free(struct grant *grant);

/* Frees the holdings of a list, and gives back their charges. */
void holdings_free(struct holding **holdings);

#endif
