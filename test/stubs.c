/* Replaces the broker's log, launcher and guard, and the machine, for parts of the broker that are
 * fuzzed or tested alone. */
#include "stubs.h"

#include <stdarg.h>
#include <stdio.h>

#include "cgroup.h"
#include "event.h"
#include "guard.h"
#include "placement.h"
#include "plugin-lines.h"
#include "launcher.h"

char said[SAID_BYTES];
int said_count;
char written[SAID_BYTES];
int written_count;

void event_broker(const char *decision, const char *format, ...)
{
    va_list arguments;
    (void)decision;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    said_count++;
}

void event_write(const struct event *event)
{
    snprintf(written, sizeof written, "%s", event->reason == NULL ? "" : event->reason);
    written_count++;
}

bool event_write_rarely(const struct event *event, int64_t *window, unsigned *count)
{
    event_write(event);
    (void)window;
    (void)count;
    return true;
}

int launcher_add(enum child_kind kind, char *const argv[], struct identity_to_run_as as)
{
    (void)kind;
    (void)argv;
    (void)as;
    return 0;
}

bool (*stub_start)(int child, int in, int out, int keep);
int stub_ended;

bool launcher_start(int child, int in, int out, int keep)
{
    return stub_start != NULL && stub_start(child, in, out, keep);
}

void launcher_end(int child)
{
    (void)child;
    stub_ended++;
}

void placement_expect(struct presence *presence, const struct attributes *plan)
{
    (void)presence;
    (void)plan;
}

void guard_expect(const struct attachment *attachment, const struct grant *grant)
{
    (void)attachment;
    (void)grant;
}

void guard_end(struct attachment *attachment, bool detaches)
{
    (void)attachment;
    (void)detaches;
}

enum cgroups cgroups_find(const char *controller, char mount[static GROUP_BYTES])
{
    (void)controller;
    mount[0] = '\0';
    return CGROUPS_V2;
}

void online_cpus(cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    for (size_t cpu = 0; cpu < 8; cpu++)
        CPU_SET(cpu, cpus);
}
