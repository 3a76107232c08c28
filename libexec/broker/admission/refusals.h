/* Keeps the refusals of plugins and rules during a request. The verdict gives the owner the most
 * useful of these refusals (rtf-verdict(5)). */
#ifndef RTF_REFUSALS_H
#define RTF_REFUSALS_H

#include "request.h"

/* Adds a plugin's answer to the list of replies in the verdict. */
void refusal_add_reply(struct request *request, int plugin, enum answer answer, const char *reason);

/* A plugin has refused. nearest: the value that the plugin would have granted (0: none). never: the
 * end of other reservations cannot change the refusal. refusal_keep_no takes the sentence for the
 * owner, `told`. refusal_note_no makes this sentence from `reason`; it also adds the reply, and
 * writes an event. */
void refusal_keep_no(struct request *request, int by, enum why code, const char *told,
                     uint64_t nearest, bool never);
void refusal_note_no(struct request *request, int plugin, enum answer answer, const char *reason,
                     uint64_t nearest, bool never);

/* Notes another runtime that would be granted. least: no smaller runtime would be granted; false:
 * no larger one. */
void refusal_note_runtime(struct request *request, uint64_t runtime, bool least);

/* The access rules have refused the plugin inquiry.plugin to the owner. */
void refusal_keep_denial(struct request *request, const struct refusal *refusal,
                         const char *reason);

/* True: no capacity that comes free can change the refusal. */
bool refusal_is_final(const struct request *request);

/* Makes the most useful refusal the answer of the request. */
void refusal_say(struct request *request, enum resource resource);

/* Forgets which values would be granted. */
void refusal_forget_values(struct request *request);

/* Forgets all refusals, so that the next claim is asked for from the first plugin on. */
void refusal_clear(struct request *request);

#endif
