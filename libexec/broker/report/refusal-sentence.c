#include "refusal-sentence.h"

#include <stdio.h>
#include <string.h>

#include "resource.h"

const char *refusal_nearest_of(const struct refusal *refusal)
{
    return refusal->of == RESOURCE_CPU ? "runtime" : resource_keys(refusal->of)[0].name;
}

enum { FITS = 96 };

/* Writes "; a runtime of at least 4000us would fit, up to 20000us". */
static void tell_least(const struct refusal *refusal, char text[static FITS])
{
    const unsigned long long least = refusal->nearest_minimum, most = refusal->nearest;
    if (least == most)
        snprintf(text, FITS, "; a runtime of exactly %lluus would fit", least);
    else if (most == 0)
        snprintf(text, FITS, "; a runtime of at least %lluus would fit", least);
    else
        snprintf(text, FITS, "; a runtime of at least %lluus would fit, up to %lluus", least, most);
}

/* Writes "; a runtime of at most 12000us would fit", or "" if no value is known that would fit. */
static void tell_nearest(const struct refusal *refusal, char text[static FITS])
{
    const char *of = refusal_nearest_of(refusal);
    const unsigned long long most = refusal->nearest;
    text[0] = '\0';
    if (refusal->nearest_minimum != 0)
        tell_least(refusal, text);
    else if (most != 0 && refusal->of == RESOURCE_CPU)
        snprintf(text, FITS, "; a runtime of at most %lluus would fit", most);
    else if (most != 0)
        snprintf(text, FITS, "; at most %llu %.20s would fit", most,
                 strcmp(of, "count") == 0 ? "units" : of);
}

/* The reason of a plugin's refusal begins with "EDF refused" already. Before all other reasons,
 * this function writes the name of the refusing part of the system. */
char *refusal_sentence(const struct outcome *outcome, char text[static SENTENCE_BYTES])
{
    const struct refusal *refusal = &outcome->refusal;
    const bool says_who = strstr(outcome->reason, "refused") != NULL;
    const bool says_rule =
        refusal->rule[0] == '\0' || strstr(outcome->reason, refusal->rule) != NULL;
    char fits[FITS];
    tell_nearest(refusal, fits);
    snprintf(text, SENTENCE_BYTES, "%s%s%s%s%s%s%s%s%s%s", says_who ? "" : refusal->by,
             says_who || refusal->by[0] == '\0' ? "" : " ",
             says_who ? "" : "refused: ", outcome->reason, says_rule ? "" : " (",
             says_rule ? "" : refusal->rule, says_rule ? "" : ")", fits,
             refusal->other[0] == '\0' ? "" : "; ", refusal->other);
    return text;
}
