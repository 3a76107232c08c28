#include "node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void node_name(char name[static NAME_BYTES], uint32_t job, uint32_t step, uint32_t rank)
{
    snprintf(name, NAME_BYTES, "slurm-%" PRIu32 ".%" PRIu32 ".%" PRIu32, job, step, rank);
}

bool node_spool(char path[static NODE_SPOOL], const char *pattern, const char *node)
{
    size_t length = 0;
    for (const char *c = pattern; *c != '\0'; c++) {
        const bool is_name = c[0] == '%' && c[1] == 'n';
        if (is_name && node == NULL)
            return false;
        const int added = snprintf(path + length, NODE_SPOOL - length, "%.*s", is_name ? 256 : 1,
                                   is_name ? node : c);
        length += (size_t)added;
        if (length >= NODE_SPOOL)
            return false;
        c += is_name ? 1 : 0;
    }
    path[length] = '\0';
    return true;
}

/* The broker's sentence also says what would fit. */
static void tell_refusal(struct node_reservation *reservation)
{
    const char *const reason = rtf_spec_reason(&reservation->spec);
    snprintf(reservation->why, sizeof reservation->why, "%s",
             *reason != '\0' ? reason : rtf_result_name(rtf_spec_result(&reservation->spec)));
}

bool node_connect(struct node_reservation *reservation, const char *spool)
{
    if (rtf_connect(&reservation->connection, spool) == RTF_OK)
        return true;
    snprintf(reservation->why, sizeof reservation->why, "%s", rtf_reason(&reservation->connection));
    return false;
}

bool node_reserve(struct node_reservation *reservation, const char *name,
                  const struct request *request)
{
    struct rtf_params params = RTF_PARAMS_INIT;
    rtf_params_set_runtime(&params, request->runtime);
    rtf_params_set_period(&params, request->period);
    rtf_params_set_deadline(&params, request->deadline);
    rtf_params_set_des_runtime(&params, request->desired);
    rtf_params_set_priority(&params, request->priority);
    if (rtf_params_set_scheduler(&params, request->plugin) != RTF_OK ||
        rtf_params_set_name(&params, name) != RTF_OK) {
        snprintf(reservation->why, sizeof reservation->why, "%s is no name of a spec", name);
        return false;
    }
    if (rtf_spec_create_attached(&reservation->connection, &reservation->spec, &params, 0) ==
        RTF_OK)
        return true;
    tell_refusal(reservation);
    return false;
}

enum rtf_result node_take_over(struct node_reservation *reservation, const char *name)
{
    enum rtf_result result = rtf_spec_find(&reservation->connection, &reservation->spec, name);
    /* Detaches the holder first, because a reservation has one thread at a time. */
    if (result == RTF_OK)
        result = rtf_spec_detach(&reservation->spec);
    if (result == RTF_OK)
        result = rtf_spec_attach(&reservation->spec, 0);
    if (result != RTF_OK && result != RTF_GONE)
        tell_refusal(reservation);
    return result;
}

void node_leave(struct node_reservation *reservation)
{
    rtf_disconnect(&reservation->connection);
}
