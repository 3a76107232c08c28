/* Keeps the refusals of plugins and rules during a request. The verdict gives the owner the most
 * useful of these refusals (rtf-verdict(5)). */
#ifndef RTF_REFUSALS_H
#define RTF_REFUSALS_H

#include "request.h"

/* Adds a plugin's answer to the list of replies in the verdict. */
void refusal_add_reply(struct request *request, int plugin, enum answer answer, const char *reason);

/* Call one of these functions when a plugin has refused. nearest: the value that the plugin would
 * have granted (0: none). never: the end of other reservations cannot change the refusal.
 * refusal_keep_no takes the sentence for the owner, `told`. refusal_note_no makes this sentence
 * from `reason`, adds the reply to the verdict, and writes an event. */
void refusal_keep_no(struct request *request, int by, enum why code, const char *told,
                     uint64_t nearest, bool never);
void refusal_note_no(struct request *request, int plugin, enum answer answer, const char *reason,
                     uint64_t nearest, bool never);

/* Notes another runtime that would be granted. least: true if no smaller runtime would be granted;
 * false if no larger runtime would be granted. */
void refusal_note_runtime(struct request *request, uint64_t runtime, bool least);

/* Call this when the access rules do not allow the owner to use the plugin inquiry.plugin. */
void refusal_keep_denial(struct request *request, const struct refusal *refusal,
                         const char *reason);

/* True: no capacity that comes free can change the refusal. */
bool refusal_is_final(const struct request *request);

/* Makes the most useful refusal the answer of the request. */
void refusal_say(struct request *request, enum resource resource);

/* Forgets which runtimes and amounts would be granted. */
void refusal_forget_values(struct request *request);

/* Forgets all refusals, so that the next claim is asked for from the first plugin on. */
void refusal_clear(struct request *request);

#endif
