/* Searches other runtimes that would be granted, when the spec's runtime is refused: the largest
 * runtime if the spec's runtime is too large; the least runtime, and then the largest, if the spec's
 * runtime is too small. The broker asks the plugin for each of these runtimes, and a question
 * changes nothing. So the verdict names only runtimes to which rules, plugin and neighbours have
 * agreed, whatever a plugin says.
 *
 * Each function returns OTHER_RUNTIME if a runtime is to be asked for, or SAYS_NO at the end of the
 * search. */
#ifndef RTF_LEAST_CHANGE_H
#define RTF_LEAST_CHANGE_H

#include "request.h"

/* Begins the search. The guard or the rules refuse the spec's runtime, and allow the runtimes from
 * inquiry.least to inquiry.ceiling. */
enum step_result least_change_begin(struct request *request);

/* Begins or continues the search with this runtime, which is the largest or the least runtime that
 * may be granted. */
enum step_result least_change_at_most(struct request *request, uint64_t runtime);
enum step_result least_change_at_least(struct request *request, uint64_t runtime);

/* The plugin refuses the runtime inquiry.probed. */
enum step_result least_change_refused(struct request *request, const struct plugin_event *event);

/* Rules, plugin and neighbours agree to the runtime inquiry.probed. */
enum step_result least_change_agreed(struct request *request);

#endif
