/* Puts each task on the CPU with the fewest tasks, and maps the requested priorities to the
 * plugin's range without changing their order. The plugin tests nothing: every task has the weight
 * 1, whatever the task states. */
#include "fixed_priority.h"

#include "ranked.h"

enum { REJECT = 1 }; /* index of "reject" in the values of exhausted= */

static struct {
    struct ranked ranked;
    const char *policy;
    int exhausted;
} fixed;

static const struct word words[] = {
    {.key = "exhausted", .values = {"share", "reject"}, .choice = &fixed.exhausted},
    {0},
};

static const char *setup(struct config *config)
{
    if (config->high == 0)
        return "needs a range of POSIX priorities: priority=LOW-HIGH";
    ranked_init(&fixed.ranked, config, fixed.policy);
    return NULL;
}

static bool has_room(const struct cpu *cpu, uint32_t key, const struct task *old)
{
    return fixed.exhausted != REJECT ||
           levels_have_room(&fixed.ranked.levels, cpu->place, key, old);
}

/* Returns the CPU for a task: the task's present CPU if it has one, else the CPU with the fewest
 * tasks. With exhausted=reject, a CPU that has no level for the task's priority does not count. */
static const struct cpu *choose(uint32_t key, const struct task *old)
{
    struct cpus *cpus = &fixed.ranked.books.cpus;
    struct cpu *cpu = cpus_own(cpus, books_share(old));
    if (cpu == NULL)
        cpu = cpus_next(cpus, NULL);
    if (has_room(cpu, key, old))
        return cpu;
    CPUS_FOREACH(cpu, cpus)
    if (has_room(cpu, key, old))
        return cpu;
    return NULL;
}

static const char *fixed_accept(const struct request *request, struct paragraph_output *out)
{
    const struct task *old = books_find(&fixed.ranked.books, request->task);
    const struct cpu *cpu;
    uint32_t key = (uint32_t)request->priority;
    if (key == 0)
        answer_never(out, "needs a priority");
    else if (!cpus_keep_within(&fixed.ranked.books.cpus, request, out))
        return NULL;
    else if ((cpu = choose(key, old)) == NULL)
        answer_no(out,
                  "on every CPU, threads with other priorities than %u occupy all levels %d-%d",
                  key, fixed.ranked.levels.low, fixed.ranked.levels.high);
    else if (request->runtime > request->max_runtime) {
        answer_above(out, request, request->max_runtime);
        answer_nearest(out, request->max_runtime);
    } else {
        struct rank rank = {.key = key, .level = (int)key, .weight = 1};
        ranked_grant(&fixed.ranked, request, cpu->place, &rank, NULL, out);
    }
    return NULL;
}

static const char *fixed_schedule(const struct request *request, struct paragraph_output *out)
{
    uint64_t key =
        request->requested_priority > 0 ? request->requested_priority : request->priority;
    if (key == 0)
        return "the plan lacks requested_priority=";
    struct rank rank = {.key = (uint32_t)key, .level = (int)request->priority, .weight = 1};
    ranked_schedule(&fixed.ranked, request, &rank, out);
    return NULL;
}

static const char *fixed_release(const struct request *request, struct paragraph_output *out)
{
    ranked_release(&fixed.ranked, request->task, out);
    return NULL;
}

/* Handles the request op=load, about a task of another plugin. Does nothing, because this plugin
 * tests nothing, and other plugins' tasks do not change its choice of a CPU. */
static const char *fixed_load(const struct request *request)
{
    (void)request;
    return NULL;
}

int fixed_priority_main(int argc, char **argv, const char *policy)
{
    static const struct plugin plugin = {
        .words = words,
        .setup = setup,
        .accept = fixed_accept,
        .schedule = fixed_schedule,
        .release = fixed_release,
        .load = fixed_load,
    };
    fixed.policy = policy;
    return plugin_main(argc, argv, &plugin);
}
