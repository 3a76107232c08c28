#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "client.h"

enum { EXIT_ATTACH_FAIL = 76 };

/* "; a runtime of at most 12000us would fit" */
static void tell_nearest(const json_t *refusal, char *text, size_t size)
{
    const json_t *nearest = json_object_get(refusal, "nearest");
    const char *of = client_string(refusal, "nearest_of"), *is = client_string(refusal, "nearest_is");
    const char *bound = is != NULL && strcmp(is, "at-least") == 0 ? "at least" : "at most";
    text[0] = '\0';
    if (json_is_integer(nearest) && (of == NULL || strcmp(of, "runtime") == 0))
        snprintf(text, size, "; a runtime of %s %lldus would fit", bound, (long long)json_integer_value(nearest));
    else if (json_is_integer(nearest))
        snprintf(text, size, "; %s %lld %.20s would fit", bound, (long long)json_integer_value(nearest), strcmp(of, "count") == 0 ? "units" : of);
}

/* The reason of a plugin's refusal comes with its first words, other reasons come without. */
void client_tell_refusal(const json_t *verdict, char text[static CLIENT_WHY])
{
    const json_t *refusal = json_object_get(verdict, "refusal");
    const char *by = client_string(refusal, "by"), *rule = client_string(refusal, "rule"), *reason = client_string(verdict, "reason");
    char who[64] = "", fits[80];
    if (reason == NULL)
        reason = "no reason given";
    if (strstr(reason, "refused") == NULL)
        snprintf(who, sizeof who, "%.40s%srefused: ", by != NULL ? by : "", by != NULL ? " " : "");
    const bool show_rule = rule != NULL && strstr(reason, rule) == NULL;
    tell_nearest(refusal, fits, sizeof fits);
    snprintf(text, CLIENT_WHY, "%s%s%s%s%s%s", who, reason, show_rule ? " (" : "", show_rule ? rule : "", show_rule ? ")" : "", fits);
}

int client_status_of_verdict(const json_t *verdict)
{
    static const struct {
        const char *result;
        int status;
    } table[] = {{"OK", EX_OK}, {"SCHEDULE_FAIL", EX_DATAERR}, {"ACL_FAIL", EX_NOPERM}, {"BAD_SPEC", EX_DATAERR}, {"ATTACH_FAIL", EXIT_ATTACH_FAIL}, {"WAITING", EX_TEMPFAIL}};
    const char *result = client_string(verdict, "result");
    const char *retry = client_string(json_object_get(verdict, "refusal"), "retry");
    for (size_t i = 0; result != NULL && i < sizeof table / sizeof *table; i++)
        if (strcmp(result, table[i].result) == 0)
            return retry != NULL && strcmp(retry, "when-freed") == 0 ? EX_TEMPFAIL : table[i].status;
    return EX_SOFTWARE;
}
