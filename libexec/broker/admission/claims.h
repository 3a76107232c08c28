/* Claims on other resources than CPU time, one after the other. A plugin of the resource accepts
 * the claim; then the ledger and the access rules' sums hold the amount. A claim without a
 * guarantee needs no plugin: its line and the rules let the claim in.
 *
 * No plugin schedules anything before all claims are held and the CPU time is found. A refusal, or
 * the end of the request, lets go of all that is held. Such requests are decided one at a time: an
 * amount that one request holds for a moment must not cause the refusal of another. */
#ifndef RTF_CLAIMS_H
#define RTF_CLAIMS_H

#include "plugins.h"
#include "request.h"

/* Looks, from inquiry.plugin on, for the plugin to ask for inquiry.claim. HELD: the claim is let in
 * without a guarantee. */
enum step_result claims_choose(struct request *request);

/* Asks the plugin inquiry.plugin for the claim, and takes the answer. */
enum step_result claims_ask(struct request *request);
enum step_result claims_answered(struct request *request, const struct plugin_event *event);

/* No plugin is left for the claim. */
enum step_result claims_refuse(struct request *request);

#endif
