/* Finds the plugin that grants a request. Asks the plugins in the order of plugins.conf. A plugin
 * can grant the request only if all of these agree: the access rules, the plugin itself, the ledger
 * (ledger.h), and the neighbours (neighbours.h), which are plugins whose promises the plan could
 * break.
 *
 * The first plugin that answers ok grants the request. If no plugin answers ok, the first plugin
 * that answered partial grants a part. If no plugin answered partial either, nothing changes. */
#ifndef RTF_ASK_PLUGINS_H
#define RTF_ASK_PLUGINS_H

#include "request.h"

/* Plugins are asked for the claims of a spec (units, network, disk) first, one claim after another,
 * and then for CPU time. ask_plugins_choose looks for the plugin to ask next, from inquiry.plugin
 * on. ask_plugins_next goes on to the plugin after inquiry.plugin. */
enum step_result ask_plugins_choose(struct request *request);
enum step_result ask_plugins_next(struct request *request);

/* ask_plugins_accept asks the plugin inquiry.plugin for CPU time. ask_plugins_probe asks this
 * plugin for the runtime inquiry.probed instead of the spec's runtime. The functions with _answered
 * take the plugin's answer. */
enum step_result ask_plugins_accept(struct request *request);
enum step_result ask_plugins_accept_answered(struct request *request,
                                             const struct plugin_event *event);
enum step_result ask_plugins_probe(struct request *request);
enum step_result ask_plugins_probe_answered(struct request *request,
                                            const struct plugin_event *event);

/* ask_plugins_judge asks the neighbours about hearing.offer. ask_plugins_judged takes the answer of
 * one neighbour. */
enum step_result ask_plugins_judge(struct request *request);
enum step_result ask_plugins_judged(struct request *request, const struct plugin_event *event);

/* ask_plugins_schedule asks the plugin to take its offer, inquiry.partial, into its books.
 * ask_plugins_scheduled takes the plugin's answer. GRANTED: the grant is in all books
 * (accounting.h), and activation.old is the former grant. */
enum step_result ask_plugins_schedule(struct request *request);
enum step_result ask_plugins_scheduled(struct request *request, const struct plugin_event *event);

/* Call ask_plugins_refuse when no plugin is left to ask. Call ask_plugins_round when capacity has
 * come free: all plugins are asked again. */
enum step_result ask_plugins_refuse(struct request *request);
enum step_result ask_plugins_round(struct request *request);

/* Call this when the kernel has refused the change. Enters activation.old into all books again.
 * False: other grants have taken the capacity of activation.old meanwhile, and the reservation has
 * no grant now. */
bool request_roll_back(struct request *request);

#endif
