/* Admits claims on resources other than CPU time, one claim after the other. A plugin of the
 * resource accepts the claim. Then the ledger and the sums of the access rules hold the claimed
 * amount. A claim without a guarantee needs no plugin: the claim is admitted if the plugin's line
 * of plugins.conf and the access rules allow it.
 *
 * No plugin schedules anything before all claims are held and a plugin has offered the CPU time. If
 * the request is refused or ends, the ledger and the sums hold none of its claims any more.
 * Requests with guaranteed claims are decided one at a time (turn_take), because an amount that one
 * request holds for a moment must not cause the refusal of another request. */
#ifndef RTF_CLAIMS_H
#define RTF_CLAIMS_H

#include "plugins.h"
#include "request.h"

/* Looks for the plugin to ask for inquiry.claim, from inquiry.plugin on. HELD: the claim is
 * admitted without a guarantee. */
enum step_result claims_choose(struct request *request);

/* claims_ask asks the plugin inquiry.plugin for the claim. claims_answered takes the plugin's
 * answer. */
enum step_result claims_ask(struct request *request);
enum step_result claims_answered(struct request *request, const struct plugin_event *event);

/* Call this when no plugin is left to ask for the claim. */
enum step_result claims_refuse(struct request *request);

#endif
