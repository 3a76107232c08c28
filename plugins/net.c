/* net - what a link carries: the sum of all transmission times, each divided by its period, stays within a threshold (paper 002, section 4.3)
 *
 * rate= is that of the link, threshold= the part of it that may be promised (0.97: wire.h). A claim weighs the bytes that it puts on the
 * wire, headers counted, a second: lib/wire.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin.h"
#include "wire.h"

struct stream {
    struct stream *next;
    uint64_t task, rate;
};

static struct {
    uint64_t bits, capacity, promised; /* the last two in bytes a second */
    struct stream *streams;
} net;

static const char *take_rate(const char *value)
{
    return parse_rate(value, &net.bits) ? NULL : "a rate such as 100Mbit, with bit, kbit, Mbit or Gbit";
}

/* The broker matches the claims' interface with it: nothing here depends on its name. */
static const char *take_interface(const char *value)
{
    return value[0] != '\0' ? NULL : "the name of an interface, such as eth0";
}

static const char *take_resource(const char *value)
{
    (void)value;
    return NULL;
}

static const struct word words[] = {
    {.key = "rate", .take = take_rate}, {.key = "interface", .take = take_interface}, {.key = "resource", .take = take_resource}, {0}};

static const char *setup(struct config *config)
{
    if (net.bits == 0)
        return "rate= is missing: the link's, such as 100Mbit";
    net.capacity = wire_capacity(net.bits, config->threshold == THRESHOLD_UNSET ? WIRE_THRESHOLD : config->threshold);
    config->tests = "exact";
    return net.capacity > 0 ? NULL : "rate= times threshold= is less than a byte a second";
}

/* Where the task is linked, or would be. */
static struct stream **place_of(uint64_t task)
{
    struct stream **place = &net.streams;
    while (*place != NULL && (*place)->task != task)
        place = &(*place)->next;
    return place;
}

static const char *net_accept(const struct request *request, struct paragraph_output *out)
{
    if (request->bytes == 0 || request->period == 0)
        return "a claim without bytes or period";
    const struct stream *old = *place_of(request->task);
    const uint64_t others = net.promised - (old == NULL ? 0 : old->rate);
    const uint64_t left = others < net.capacity ? net.capacity - others : 0;
    const uint64_t asked = wire_rate(request->bytes, request->period);
    if (asked <= left) {
        paragraph_add(out, "answer", "ok");
        return NULL;
    }
    (asked > net.capacity ? answer_never : answer_no)(out, "the wire has %" PRIu64 " of %" PRIu64 " bytes/s left, %" PRIu64 " asked", left, net.capacity, asked);
    answer_nearest(out, wire_bytes_within(left, request->period));
    return NULL;
}

static const char *net_release(const struct request *request, struct paragraph_output *out)
{
    (void)out;
    struct stream **place = place_of(request->task), *gone = *place;
    if (gone == NULL)
        return NULL;
    net.promised -= gone->rate;
    *place = gone->next;
    free(gone);
    return NULL;
}

static const char *net_schedule(const struct request *request, struct paragraph_output *out)
{
    if (request->bytes == 0 || request->period == 0)
        return "a claim without bytes or period";
    net_release(request, out);
    struct stream *stream = plugin_allocate(1, sizeof *stream);
    *stream = (struct stream){net.streams, request->task, wire_rate(request->bytes, request->period)};
    net.streams = stream;
    net.promised += stream->rate;
    return NULL;
}

static const char *net_load(const struct request *request)
{
    (void)request;
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct plugin plugin = {
        .words = words, .setup = setup, .accept = net_accept, .schedule = net_schedule, .release = net_release, .load = net_load, .without_cpus = true};
    return plugin_main(argc, argv, &plugin);
}
