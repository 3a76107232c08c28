#include "rtf-verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum rtf_result result_of(const char *word)
{
    static const struct {
        const char *word;
        enum rtf_result result;
    } table[] = {{"OK", RTF_OK},
                 {"SCHEDULE_FAIL", RTF_SCHEDULE_FAIL},
                 {"WAITING", RTF_SCHEDULE_FAIL},
                 {"ACL_FAIL", RTF_ACL_FAIL},
                 {"BAD_SPEC", RTF_BAD_SPEC},
                 {"ATTACH_FAIL", RTF_ATTACH_FAIL}};
    for (size_t i = 0; word != NULL && i < sizeof table / sizeof *table; i++)
        if (strcmp(word, table[i].word) == 0)
            return table[i].result;
    return RTF_ERROR;
}

uint64_t own_number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

void own_take_text(const json_t *object, const char *key, char *text, size_t size)
{
    const char *value = client_string(object, key);
    snprintf(text, size, "%s", value == NULL ? "" : value);
}

/* Reads the amounts of the grant; with modes, the largest amount of all modes. */
static void take_amounts(struct rtf_spec_own *spec, const json_t *grant)
{
    const json_t *claims = json_object_get(grant, "claims");
    memset(spec->amounts, 0, sizeof spec->amounts);
    spec->amounts[OWN_THREADS - OWN_UNITS] = own_number(grant, "threads");
    for (size_t i = 0; i < json_array_size(claims); i++) {
        const json_t *claim = json_array_get(claims, i);
        const char *resource = client_string(claim, "resource");
        const int text = resource == NULL ? -1 : own_text_of(resource);
        if (text >= OWN_UNITS && text <= OWN_DISK)
            spec->amounts[text - OWN_UNITS] =
                own_number(claim, text == OWN_UNITS ? "accepted_count" : "accepted_bytes");
    }
}

void own_take_grant(struct rtf_spec_own *spec, const json_t *grant, const json_t *thread)
{
    spec->granted = json_is_object(grant);
    own_take_text(grant, "mode", spec->mode, sizeof spec->mode);
    spec->runtime_in_mode =
        own_number(grant, spec->mode[0] == '\0' ? "accepted_runtime" : "runtime_in_mode");
    take_amounts(spec, grant);
    spec->accepted_runtime = own_number(grant, "accepted_runtime");
    spec->period = own_number(grant, "period");
    spec->deadline = own_number(grant, "deadline");
    own_take_text(grant, "plugin", spec->plugin, sizeof spec->plugin);
    own_take_text(grant, "policy", spec->policy, sizeof spec->policy);
    own_take_text(grant, "cpus", spec->cpus, sizeof spec->cpus);
    const char *state = client_string(thread, "state");
    spec->thread = (pid_t)own_number(thread, "tid");
    spec->attached = state != NULL && strcmp(state, "attached") == 0;
}

enum rtf_result own_take_verdict(struct rtf_spec_own *spec, const json_t *verdict)
{
    const json_t *refusal = json_object_get(verdict, "refusal");
    spec->result = result_of(client_string(verdict, "result"));
    own_take_text(verdict, client_string(verdict, "sentence") != NULL ? "sentence" : "reason",
                  spec->reason, sizeof spec->reason);
    own_take_text(refusal, "code", spec->code, sizeof spec->code);
    spec->nearest = own_number(refusal, "nearest");
    spec->nearest_minimum = own_number(refusal, "nearest_minimum");
    const json_t *grant = json_object_get(verdict, "grant");
    const bool holds = json_is_object(grant);
    own_take_grant(spec, holds ? grant : json_object_get(verdict, "would_grant"),
                   json_object_get(verdict, "thread"));
    spec->granted = holds;
    own_take_text(verdict, "time", spec->decided, sizeof spec->decided);
    spec->served = spec->thread != 0;
    return spec->result;
}

void own_forget_answer(struct rtf_spec_own *spec)
{
    free(atomic_exchange(&spec->unread, NULL));
}

void own_forget_former(struct rtf_spec_own *spec)
{
    free(spec->former);
    spec->former = NULL;
}

void own_read_answer(struct rtf_spec_own *spec)
{
    json_t *verdict = client_parse_object(atomic_load(&spec->unread));
    if (verdict == NULL)
        return;
    (void)own_take_verdict(spec, verdict);
    json_decref(verdict);
    own_forget_answer(spec);
}

void own_read(struct rtf_spec_own *spec)
{
    pthread_mutex_lock(&spec->lock);
    own_read_answer(spec);
    pthread_mutex_unlock(&spec->lock);
}

enum rtf_result own_set_result(struct rtf_spec_own *spec, enum rtf_result result, const char *code,
                               const char *reason)
{
    /* parses an answer that is not parsed yet, so that the grant in this answer is not lost */
    own_read_answer(spec);
    spec->result = result;
    spec->nearest = spec->nearest_minimum = 0;
    snprintf(spec->code, sizeof spec->code, "%s", code);
    snprintf(spec->reason, sizeof spec->reason, "%s", reason);
    return result;
}

enum rtf_result own_set_outcome(struct rtf_spec_own *spec, enum client_outcome outcome,
                                const char *why)
{
    switch (outcome) {
    case CLIENT_NO_BROKER: return own_set_result(spec, RTF_CONNECTION_ERR, "no-broker", why);
    case CLIENT_DENIED: return own_set_result(spec, RTF_ACL_FAIL, "not-a-member", why);
    case CLIENT_TAKEN: return own_set_result(spec, RTF_ERROR, "taken", why);
    case CLIENT_TIMEOUT: return own_set_result(spec, RTF_TIMEOUT, "no-answer", why);
    case CLIENT_GONE: return own_set_result(spec, RTF_GONE, "gone", why);
    case CLIENT_PENDING: return own_set_result(spec, RTF_PENDING, "", "");
    case CLIENT_OK: return own_set_result(spec, RTF_OK, "", "");
    case CLIENT_INTERRUPTED:
    case CLIENT_ERROR: break;
    }
    return own_set_result(spec, RTF_ERROR, "system", why);
}

enum rtf_result own_set_gone(struct rtf_spec_own *spec, const char *why)
{
    own_forget_answer(spec);
    own_take_grant(spec, NULL, NULL);
    spec->inode = 0;
    spec->request = OWN_NOTHING;
    return own_set_result(spec, RTF_GONE, "gone", why);
}

enum rtf_result own_set_released(struct rtf_spec_own *spec)
{
    own_forget_answer(spec);
    own_take_grant(spec, NULL, NULL);
    spec->request = OWN_NOTHING;
    return own_set_result(spec, RTF_OK, "", "");
}

enum rtf_result own_set_busy(struct rtf_spec_own *spec, const char *why)
{
    return own_set_result(spec, RTF_ATTACH_FAIL, "busy", why);
}
