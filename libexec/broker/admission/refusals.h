/* What has been said against a request so far, by plugins and rules: of several the most useful is told (rtf-verdict(5)). */
#ifndef RTF_REFUSALS_H
#define RTF_REFUSALS_H

#include "request.h"

/* What a plugin that was asked said, for the list in the verdict. */
void refusal_add_reply(struct request *request, int plugin, enum answer answer, const char *reason);

/* A no of a plugin; nearest: what it would have taken (0: nothing), never: whoever else ends. The first stores it alone, in words for people. */
void refusal_keep_no(struct request *request, int by, enum why code, const char *told, uint64_t nearest, bool never);
void refusal_note_no(struct request *request, int plugin, enum answer answer, const char *reason, uint64_t nearest, bool never);

/* The rules closed the plugin that would have been asked. */
void refusal_keep_denial(struct request *request, const struct refusal *refusal, const char *reason);

/* Nothing that others give back could change it. */
bool refusal_is_final(const struct request *request);

/* Makes it the answer. */
void refusal_say(struct request *request, enum resource resource);

/* Nothing has been said: for the next claim. */
void refusal_clear(struct request *request);

#endif
