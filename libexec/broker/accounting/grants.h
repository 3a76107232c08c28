/* Functions of a grant and its plugin's line in plugins.conf. */
#ifndef RTF_GRANTS_H
#define RTF_GRANTS_H

#include "reservation.h"

/* Names the plugin that granted the CPUs. If the grant has no CPUs, names the plugin of the first
 * guaranteed claim. If no claim is guaranteed, names the plugin of the first claim without a
 * guarantee. NULL: the grant is NULL, or has only extras (extras.h). */
const char *grant_plugin_name(const struct grant *grant);

/* True: the grant has CPU time, which schedules an attached thread. */
bool grant_schedules(const struct grant *grant);

/* True: rtf-guard enforces the runtime of this grant. The plugin's line has enforce=runtime, and
 * the grant has a runtime and a period or a deadline. */
bool grant_is_enforced(const struct grant *grant);

/* Frees a grant that is in no books (accounting.h) any more. NULL is allowed. */
void grant_free(struct grant *grant);

/* Frees the holdings of a list, and releases their charges. */
void holdings_free(struct holding **holdings);

#endif
