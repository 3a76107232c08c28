#include "refusal-sentence.h"

#include <stdio.h>
#include <string.h>

#include "resource.h"

const char *refusal_nearest_of(const struct refusal *refusal)
{
    return refusal->of == RESOURCE_CPU ? "runtime" : resource_keys(refusal->of)[0].name;
}

enum { FITS = 96 };

/* Writes "; a runtime of at most 12000us would fit", or "" if no value is known that would fit. */
static void tell_nearest(const struct refusal *refusal, char text[static FITS])
{
    const char *bound = refusal->at_least ? "at least" : "at most",
               *of = refusal_nearest_of(refusal);
    text[0] = '\0';
    if (refusal->nearest == 0)
        return;
    if (refusal->of == RESOURCE_CPU)
        snprintf(text, FITS, "; a runtime of %s %lluus would fit", bound,
                 (unsigned long long)refusal->nearest);
    else
        snprintf(text, FITS, "; %s %llu %.20s would fit", bound,
                 (unsigned long long)refusal->nearest, strcmp(of, "count") == 0 ? "units" : of);
}

/* The reason of a plugin's refusal begins with "EDF refused" already. Before other reasons, this
 * function writes who refused. */
char *refusal_sentence(const struct outcome *outcome, char text[static SENTENCE_BYTES])
{
    const struct refusal *refusal = &outcome->refusal;
    const bool says_who = strstr(outcome->reason, "refused") != NULL;
    const bool says_rule =
        refusal->rule[0] == '\0' || strstr(outcome->reason, refusal->rule) != NULL;
    char fits[FITS];
    tell_nearest(refusal, fits);
    snprintf(text, SENTENCE_BYTES, "%s%s%s%s%s%s%s%s", says_who ? "" : refusal->by,
             says_who || refusal->by[0] == '\0' ? "" : " ",
             says_who ? "" : "refused: ", outcome->reason, says_rule ? "" : " (",
             says_rule ? "" : refusal->rule, says_rule ? "" : ")", fits);
    return text;
}
