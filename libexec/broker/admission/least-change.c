#include "least-change.h"

#include "refusals.h"
#include "spec.h"
#include "units.h"

/* Returns the largest runtime that the rules allow and the spec could state. */
static uint64_t most_possible(const struct request *request)
{
    const struct spec *spec = &request->spec;
    const uint64_t window = spec_window(spec);
    uint64_t most = request->inquiry.ceiling < TIME_MAX ? request->inquiry.ceiling : TIME_MAX;
    most = window != 0 && window < most ? window : most;
    return spec->desired_runtime != 0 && spec->desired_runtime < most ? spec->desired_runtime
                                                                      : most;
}

enum step_result least_change_at_most(struct request *request, uint64_t runtime)
{
    request->inquiry.seeks_least = false;
    request->inquiry.probed = runtime;
    return OTHER_RUNTIME;
}

enum step_result least_change_at_least(struct request *request, uint64_t runtime)
{
    const uint64_t least = runtime < request->inquiry.least ? request->inquiry.least : runtime;
    if (least > most_possible(request))
        return SAYS_NO;
    request->inquiry.seeks_least = true;
    request->inquiry.probed = least;
    return OTHER_RUNTIME;
}

enum step_result least_change_begin(struct request *request)
{
    const struct inquiry *inquiry = &request->inquiry;
    if (inquiry->ceiling == 0)
        return SAYS_NO;
    if (request->spec.runtime < inquiry->least)
        return least_change_at_least(request, inquiry->least);
    return inquiry->ceiling < request->spec.runtime
               ? least_change_at_most(request, most_possible(request))
               : SAYS_NO;
}

/* In the search for the least runtime, tries only larger runtimes than before. In the search for
 * the largest runtime, tries only smaller runtimes. So the search ends even if a faulty plugin
 * suggests wrong runtimes. */
enum step_result least_change_refused(struct request *request, const struct plugin_event *event)
{
    const struct inquiry *inquiry = &request->inquiry;
    if (inquiry->seeks_least)
        return event->nearest_minimum > inquiry->probed
                   ? least_change_at_least(request, event->nearest_minimum)
                   : SAYS_NO;
    return event->nearest != 0 && event->nearest < inquiry->probed
               ? least_change_at_most(request, event->nearest)
               : SAYS_NO;
}

enum step_result least_change_agreed(struct request *request)
{
    struct inquiry *inquiry = &request->inquiry;
    refusal_note_runtime(request, inquiry->probed, inquiry->seeks_least);
    if (!inquiry->seeks_least)
        return SAYS_NO;
    inquiry->least = inquiry->probed;
    return least_change_at_most(request, most_possible(request));
}
