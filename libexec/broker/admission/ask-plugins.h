/* Which plugin grants a request. For each plugin, in the order of plugins.conf, these decide: the
 * access rules, the plugin itself, the ledger, and the neighbours whose promises the plugin's plan
 * could break.
 *
 * The first plugin that answers ok wins. If no plugin answers ok, the first plugin that answered
 * partial wins. If none did, nothing changes. */
#ifndef RTF_ASK_PLUGINS_H
#define RTF_ASK_PLUGINS_H

#include "request.h"

/* Looks for the next claim; or, from inquiry.plugin on, for the next plugin that may be asked for
 * CPU time. */
enum step_result ask_plugins_choose(struct request *request);
enum step_result ask_plugins_next(struct request *request);

/* Asks the plugin inquiry.plugin for CPU time, and takes the answer. _probe asks for the runtime
 * inquiry.probed instead of the spec's runtime. */
enum step_result ask_plugins_accept(struct request *request);
enum step_result ask_plugins_accept_answered(struct request *request,
                                             const struct plugin_event *event);
enum step_result ask_plugins_probe(struct request *request);
enum step_result ask_plugins_probe_answered(struct request *request,
                                            const struct plugin_event *event);

/* Asks the neighbours about hearing.offer, and takes their answers. */
enum step_result ask_plugins_judge(struct request *request);
enum step_result ask_plugins_judged(struct request *request, const struct plugin_event *event);

/* The plugin takes its offer, inquiry.partial, into its books. GRANTED: the grant is in all books,
 * and activation.old is the grant before. */
enum step_result ask_plugins_schedule(struct request *request);
enum step_result ask_plugins_scheduled(struct request *request, const struct plugin_event *event);

/* _refuse: no plugin is left. _round: something has come free, and all plugins are asked again. */
enum step_result ask_plugins_refuse(struct request *request);
enum step_result ask_plugins_round(struct request *request);

/* The kernel refused the change: puts activation.old back into all books. False: other grants have
 * taken its capacity meanwhile, and the reservation has no grant now. */
bool request_roll_back(struct request *request);

#endif
