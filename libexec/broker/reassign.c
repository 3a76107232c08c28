#include "reassign.h"

#include "adjustments.h"
#include "ask-plugins.h"
#include "attach.h"
#include "attachments.h"
#include "debts.h"
#include "ledger.h"
#include "reservations.h"
#include "resource-cpu.h"
#include "tasks.h"
#include "verdict.h"

void reassign_feed(int plugin)
{
    for (struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation)) {
        if (reservation->grant != NULL)
            feed_one(plugin, reservation->task, reservation->grant);
    }
    debt_feed(plugin);
}

static void move(const struct plugin_event *event, struct grant *grant, const struct grant *moved)
{
    const struct grant before = *grant;
    ledger_remove(grant);
    grant->plan = moved->plan;
    ledger_add(grant);
    if (event->move.has_cpus)
        tell_neighbours(event->task, &before, grant);
}

static const char moved_by_plugin[] = "the plugin moved the reservation to make room for another";

void reassign_take(int plugin, const struct plugin_event *event)
{
    struct reservation *reservation = reservation_of_task(event->task);
    struct grant *grant = reservation == NULL ? debt_grant(event->task) : reservation->grant;
    struct grant moved;
    if (grant == NULL || grant->plugin != plugin || !cpu_may_move(grant, &event->move, &moved)) {
        if (!plugin_is_releasing(plugin, event->task))
            plugin_fail(
                plugin,
                "it moved a task of another plugin, or moved a task to a CPU or priority that is not on the plugin's line of plugins.conf");
        return;
    }
    move(event, grant, &moved);
    if (reservation == NULL)
        return;
    (void)reservation_record(reservation);
    /* If the spec states no priority, the owner has left the choice to the plugin, and is not told
     * of another priority. */
    bool news = reservation->request == NULL &&
                (event->move.has_cpus || reservation->grant->spec.priority != 0);
    if (reservation->attachment == NULL) {
        if (news)
            verdict_again(reservation, UPDATE, moved_by_plugin);
        return;
    }
    if (request_is_detaching(reservation))
        return;
    adjustments_expect(reservation, attach_adjust(reservation->attachment, reservation->grant),
                       news ? moved_by_plugin : NULL);
}
