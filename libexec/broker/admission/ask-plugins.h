/* Who can serve a reservation: for each plugin in order the access rules, the plugin, the ledger, the neighbours whose
 * promises its plan could break.
 *
 * The first plugin that answers ok wins; else the first that said partial; else nothing has changed. */
#ifndef RTF_ASK_PLUGINS_H
#define RTF_ASK_PLUGINS_H

#include "request.h"

/* Asks the next plugin that may be asked; when there is none left, decides. */
enum next ask_next(struct request *request);

/* The same from the first plugin on: something has come free. */
enum next ask_again(struct request *request);

/* What the plugin that was asked said. ENFORCE: the grant is in all books, and request->activation.old is the one before. */
enum next plugin_answered(struct request *request, enum step step, const struct plugin_event *event);

/* The kernel did not take the change: back to request->activation.old, in all books. False: its place has been taken
 * meanwhile, and the reservation has no grant any more. */
bool uncommit(struct request *request);

#endif
