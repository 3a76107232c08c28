/* Claims on other resources than CPU time: one after the other is accepted by a plugin of its resource, and held in the ledger and in the access rules'
 * sums, or, without a guarantee, let in by its line and the rules alone. Nothing is scheduled before all of them and the CPUs are had, and a no, or the
 * end of the request, lets go of all. Such requests are decided one at a time: what one holds for a moment must not be another one's refusal. */
#ifndef RTF_CLAIMS_H
#define RTF_CLAIMS_H

#include "plugins.h"
#include "request.h"

/* Looks for the plugin that is to be asked for request->inquiry.claim, from inquiry.plugin on. HELD: it is let in without a guarantee, and nobody has to be
 * asked. */
enum step_result claims_choose(struct request *request);

/* Asks it, and takes its answer. */
enum step_result claims_ask(struct request *request);
enum step_result claims_answered(struct request *request, const struct plugin_event *event);

/* No plugin is left that would take the claim. */
enum step_result claims_refuse(struct request *request);

#endif
