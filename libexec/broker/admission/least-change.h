/* When the spec's runtime is refused, searches for other runtimes that would be granted. If the
 * spec's runtime is too large, the search is for the largest such runtime. If the spec's runtime is
 * too small, the search is for the least such runtime, and then for the largest. The broker asks
 * the plugin for each runtime that it tries, and a question changes nothing. So the verdict names
 * only runtimes to which rules, plugin and neighbours (neighbours.h) have agreed, even if a plugin
 * suggests a wrong runtime.
 *
 * Each function returns OTHER_RUNTIME if the broker has to ask for another runtime, or SAYS_NO at
 * the end of the search. */
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

/* Call this when the plugin refuses the runtime inquiry.probed. */
enum step_result least_change_refused(struct request *request, const struct plugin_event *event);

/* Call this when rules, plugin and neighbours agree to the runtime inquiry.probed. */
enum step_result least_change_agreed(struct request *request);

#endif
