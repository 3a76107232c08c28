/* The refusals of plugins and rules so far. The owner is told the most useful one
 * (rtf-verdict(5)). */
#ifndef RTF_REFUSALS_H
#define RTF_REFUSALS_H

#include "request.h"

/* Adds a plugin's answer to the list in the verdict. */
void refusal_add_reply(struct request *request, int plugin, enum answer answer, const char *reason);

/* A plugin said no. nearest: the value that the plugin would have taken (0: none). never: no other
 * reservation's end changes the answer. refusal_keep_no takes the sentence for the owner;
 * refusal_note_no makes the sentence, and writes the reply and an event as well. */
void refusal_keep_no(struct request *request, int by, enum why code, const char *told,
                     uint64_t nearest, bool never);
void refusal_note_no(struct request *request, int plugin, enum answer answer, const char *reason,
                     uint64_t nearest, bool never);

/* The access rules do not let the owner use the plugin. */
void refusal_keep_denial(struct request *request, const struct refusal *refusal,
                         const char *reason);

/* True if no capacity that comes free could change the refusal. */
bool refusal_is_final(const struct request *request);

/* Makes the most useful refusal the answer. */
void refusal_say(struct request *request, enum resource resource);

/* Forgets all refusals, and begins at the first plugin: for the next claim. */
void refusal_clear(struct request *request);

#endif
