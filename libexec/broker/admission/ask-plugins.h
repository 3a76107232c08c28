/* Who can serve a reservation: for each plugin in order the access rules, the plugin, the ledger, the neighbours whose
 * promises its plan could break.
 *
 * The first plugin that answers ok wins; else the first that said partial; else nothing has changed. */
#ifndef RTF_ASK_PLUGINS_H
#define RTF_ASK_PLUGINS_H

#include "request.h"

/* Looks for the next claim, or for the plugin that may be asked for CPU time, from inquiry.plugin on. */
enum step_result ask_plugins_choose(struct request *request);
enum step_result ask_plugins_next(struct request *request);

/* Asks this plugin for CPU time; for inquiry.probed instead of the spec's runtime. Takes its answers. */
enum step_result ask_plugins_accept(struct request *request);
enum step_result ask_plugins_accept_answered(struct request *request, const struct plugin_event *event);
enum step_result ask_plugins_probe(struct request *request);
enum step_result ask_plugins_probe_answered(struct request *request, const struct plugin_event *event);

/* Asks the neighbours about hearing.offer. */
enum step_result ask_plugins_judge(struct request *request);
enum step_result ask_plugins_judged(struct request *request, const struct plugin_event *event);

/* The plugin takes inquiry.partial, its offer, into its books. GRANTED: the grant is in all books, and activation.old is the one before. */
enum step_result ask_plugins_schedule(struct request *request);
enum step_result ask_plugins_scheduled(struct request *request, const struct plugin_event *event);

/* No plugin is left. And from the first plugin on: something has come free. */
enum step_result ask_plugins_refuse(struct request *request);
enum step_result ask_plugins_round(struct request *request);

/* The kernel did not take the change: back to activation.old, in all books. False: its place has been taken
 * meanwhile, and the reservation has no grant any more. */
bool request_roll_back(struct request *request);

#endif
