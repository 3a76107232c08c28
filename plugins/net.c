/* net - admission of claims to a network link. The transmission time of each claim is divided by
 * the claim's period, and the sum over all claims stays within a threshold (section 4.3 of the
 * paper on FRSH/FORB).
 *
 * rate= is the rate of the link. threshold= is the share of the rate that all claims together may
 * have (default: 0.97, wire.h). The weight of a claim is its bytes per second on the link,
 * including headers (lib/wire.h). */
#include <inttypes.h>
#include <stdio.h>

#include "amounts.h"
#include "plugin.h"
#include "wire.h"

static struct {
    uint64_t bits, capacity; /* capacity: bytes per second */
} net;

static const char *take_rate(const char *value)
{
    return parse_rate(value, &net.bits)
               ? NULL
               : "must be a rate such as 100Mbit, with bit, kbit, Mbit or Gbit";
}

/* Checks the name of the interface. Only the broker compares this name with claims. */
static const char *take_interface(const char *value)
{
    return value[0] != '\0' ? NULL : "must be the name of an interface, such as eth0";
}

static const struct word words[] = {{.key = "rate", .take = take_rate},
                                    {.key = "interface", .take = take_interface},
                                    {.key = "resource", .take = amounts_take_resource},
                                    {0}};

static const char *setup(struct config *config)
{
    if (net.bits == 0)
        return "rate= is missing: the rate of the link, such as 100Mbit";
    net.capacity =
        wire_capacity(net.bits,
                      config->threshold == THRESHOLD_UNSET ? WIRE_THRESHOLD : config->threshold);
    config->tests = "exact";
    return net.capacity > 0 ? NULL : "rate= times threshold= is less than one byte per second";
}

static const char *net_accept(const struct request *request, struct paragraph_output *out)
{
    if (request->bytes == 0 || request->period == 0)
        return "the claim lacks bytes= or period=";
    const uint64_t left = amounts_left(net.capacity, request->task);
    const uint64_t asked = wire_rate(request->bytes, request->period);
    if (asked <= left) {
        paragraph_add(out, "answer", "ok");
        return NULL;
    }
    (asked > net.capacity ? answer_never : answer_no)(out,
                                                      "the wire has %" PRIu64 " of %" PRIu64
                                                      " bytes/s left, %" PRIu64 " asked",
                                                      left, net.capacity, asked);
    answer_nearest(out, wire_bytes_within(left, request->period));
    return NULL;
}

static const char *net_schedule(const struct request *request, struct paragraph_output *out)
{
    (void)out;
    if (request->bytes == 0 || request->period == 0)
        return "the claim lacks bytes= or period=";
    amounts_set(request->task, wire_rate(request->bytes, request->period));
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct plugin plugin = {.words = words,
                                         .setup = setup,
                                         .accept = net_accept,
                                         .schedule = net_schedule,
                                         .release = amounts_release,
                                         .load = amounts_load,
                                         .without_cpus = true};
    return plugin_main(argc, argv, &plugin);
}
