#include <string.h>
#include <sysexits.h>

#include "client.h"

enum { EXIT_ATTACH_FAIL = 76 };

/* Copies the sentence about a refusal. A refusal has the key "sentence"; any other answer has only
 * the key "reason". */
void client_tell_refusal(const json_t *verdict, char text[static CLIENT_WHY])
{
    const char *sentence = client_string(verdict, "sentence"),
               *reason = client_string(verdict, "reason");
    client_printable(sentence != NULL ? sentence
                     : reason != NULL ? reason
                                      : "no reason given",
                     text, CLIENT_WHY);
}

int client_status_of_verdict(const json_t *verdict)
{
    static const struct {
        const char *result;
        int status;
    } table[] = {{"OK", EX_OK},
                 {"SCHEDULE_FAIL", EX_DATAERR},
                 {"ACL_FAIL", EX_NOPERM},
                 {"BAD_SPEC", EX_DATAERR},
                 {"ATTACH_FAIL", EXIT_ATTACH_FAIL},
                 {"WAITING", EX_TEMPFAIL}};
    const char *result = client_string(verdict, "result");
    const char *retry = client_string(json_object_get(verdict, "refusal"), "retry");
    for (size_t i = 0; result != NULL && i < sizeof table / sizeof *table; i++)
        if (strcmp(result, table[i].result) == 0)
            return retry != NULL && strcmp(retry, "when-freed") == 0 ? EX_TEMPFAIL
                                                                     : table[i].status;
    return EX_SOFTWARE;
}

int client_status_of_outcome(enum client_outcome outcome)
{
    switch (outcome) {
    case CLIENT_OK: return EX_OK;
    case CLIENT_NO_BROKER: return EX_UNAVAILABLE;
    case CLIENT_DENIED: return EX_NOPERM;
    case CLIENT_TIMEOUT: return EX_TEMPFAIL;
    case CLIENT_GONE: return EX_NOINPUT;
    case CLIENT_TAKEN: return EX_CANTCREAT;
    case CLIENT_PENDING:
    case CLIENT_INTERRUPTED:
    case CLIENT_ERROR: break;
    }
    return EX_OSERR;
}
