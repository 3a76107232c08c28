#include "neighbours.h"

#include <stdio.h>

#include "side-by-side.h"
#include "trial.h"

static void load_as_before(const struct reservation *reservation, int plugin)
{
    plugin_load(plugin, reservation->task,
                reservation->grant != NULL && plugins_share_cpu(reservation->grant->plugin, plugin)
                    ? reservation->grant
                    : NULL);
}

/* Asks the neighbour hearing.judge. In a trial (trial.h) the neighbour must not keep the plan in
 * its books, because the other reservations really have more than in the trial. */
static void neighbours_judge(struct request *request)
{
    trial_tell(request->hearing.judge);
    const uint64_t id =
        plugin_judge(request->hearing.judge, request->reservation->task, request->hearing.offer);
    if (is_tried(request))
        load_as_before(request->reservation, request->hearing.judge);
    trial_tell_back(request->hearing.judge);
    (void)wait_for_plugin(request, id);
}

/* Asks all neighbours, even after one has said no. Each refusing neighbour names the largest
 * runtime that it could bear. All neighbours can bear the smallest of these runtimes. */
static bool neighbours_ask_next(struct request *request)
{
    const struct grant *offer = request->hearing.offer;
    while (++request->hearing.judge < plugins_count())
        if (plugin_must_judge(request->hearing.judge, offer->plugin, &offer->plan)) {
            neighbours_judge(request);
            return true;
        }
    return false;
}

bool neighbours_ask(struct request *request)
{
    request->hearing.judge = request->hearing.objector = -1;
    request->hearing.never = false;
    request->hearing.bearable = UINT64_MAX;
    return neighbours_ask_next(request);
}

static void object(struct request *request, const struct plugin_event *event)
{
    const char *name = plugin_line(request->hearing.judge)->name;
    if (request->hearing.objector < 0) {
        request->hearing.objector = request->hearing.judge;
        request->hearing.objection = event->answer;
        snprintf(request->hearing.reason, sizeof request->hearing.reason, "%s %s: %.200s", name,
                 event->answer == ANSWER_RESTARTING ? "cannot be asked" : "cannot bear it",
                 event->reason);
    }
    request->hearing.never |= event->never;
    if (event->nearest < request->hearing.bearable)
        request->hearing.bearable = event->nearest;
}

bool neighbour_answered(struct request *request, const struct plugin_event *event)
{
    if (event->answer != ANSWER_OK)
        object(request, event);
    return neighbours_ask_next(request);
}

void neighbours_forget(const struct request *request, const struct grant *offer)
{
    const struct reservation *reservation = request->reservation;
    for (int i = 0; i < plugins_count(); i++)
        if (plugin_must_judge(i, offer->plugin, &offer->plan))
            load_as_before(reservation, i);
}
