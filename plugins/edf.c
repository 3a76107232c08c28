/* edf - earliest deadline first on SCHED_DEADLINE, partitioned by worst fit (paper 000, section 5.1)
 *
 * partition=unthrottled: each CPU by itself, the kernel's own admission switched off.
 * partition=global:      one pool of CPUs, the kernel's own admission on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "books.h"

enum { GLOBAL, UNTHROTTLED, CPUSET }; /* their places in the values of partition= */
enum { KERNEL_RUNTIME_MIN = 2 };   /* us; the kernel wants 1024 ns */

static struct {
    struct books books;
    int admission, partition;
    uint64_t capacity;               /* U^thr of one CPU, or of the pool */
    uint64_t period_min, period_max; /* the kernel's, us */
} edf;

static const struct word words[] = {
    {"admission", {"density"}, &edf.admission},
    {"partition", {"global", "unthrottled", "cpuset"}, &edf.partition},
    {0},
};

static uint64_t kernel_setting(const char *path, uint64_t otherwise)
{
    char line[32] = "";
    uint64_t value;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return otherwise;
    bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return is_read && parse_number(line, UINT64_MAX, &value) ? value : otherwise;
}

static const char *setup(struct config *config)
{
    if (config->high != 0)
        return "a deadline plugin has no POSIX priorities: its range is -";
    bool pooled = edf.partition == GLOBAL;
    uint64_t threshold = config->threshold;
    if (threshold == THRESHOLD_UNSET) /* what the kernel's own test leaves beside its fair servers, where it is on */
        threshold = edf.partition != UNTHROTTLED ? ONE_CPU / 10 * 9 : ONE_CPU / 100 * 95;
    edf.capacity = pooled ? threshold * (uint64_t)CPU_COUNT(&config->cpus) : threshold;
    edf.period_min = kernel_setting("/proc/sys/kernel/sched_deadline_period_min_us", 100);
    edf.period_max = kernel_setting("/proc/sys/kernel/sched_deadline_period_max_us", 4194304);
    cpus_init(&edf.books.cpus, &config->cpus, pooled, false);
    config->tests = pooled ? "necessary" : "sufficient"; /* a sum over several CPUs only bounds lateness */
    return NULL;
}

/* min{T, D} of eq. 1. */
static uint64_t window(const struct request *request)
{
    return request->deadline > 0 ? least(request->period, request->deadline) : request->period;
}

/* U^thr - U_k, as if `old` were gone. */
static uint64_t room(const struct cpu *cpu, const struct task *old)
{
    uint64_t load = cpu_sums_without(cpu, books_share(old)).load;
    return load < edf.capacity ? edf.capacity - load : 0;
}

/* Passing over the test is no use where the kernel makes the same one. */
static bool ignores_test(const struct request *request)
{
    return request->ignore_admission && edf.partition == UNTHROTTLED;
}

/* Whether the request can be a SCHED_DEADLINE reservation at all; else answers. */
static bool is_possible(const struct request *request, struct paragraph_output *out)
{
    if (request->period == 0)
        answer_never(out, "needs a period");
    else if (request->runtime == 0)
        answer_never(out, "needs a runtime");
    else if (request->deadline > request->period)
        answer_never(out, "the deadline is %" PRIu64 "us, SCHED_DEADLINE allows up to the period, %" PRIu64 "us",
                  request->deadline, request->period);
    else if (request->period < edf.period_min || request->period > edf.period_max)
        answer_never(out, "the period is %" PRIu64 "us, the kernel allows %" PRIu64 "us to %" PRIu64 "us",
                  request->period, edf.period_min, edf.period_max);
    else
        return true;
    return false;
}

/* The largest runtime that would be granted. The best CPU is the least loaded one: what does not fit there
 * fits nowhere. 0: none. */
static uint64_t nearest(const struct request *request, uint64_t left, uint64_t ceiling)
{
    uint64_t runtime = ceiling;
    if (!ignores_test(request))
        runtime = least(ceiling, runtime_within(left, window(request)));
    return runtime < KERNEL_RUNTIME_MIN ? 0 : runtime;
}

static void refuse_load(const struct request *request, const struct cpu *cpu, uint64_t left,
                        struct paragraph_output *out)
{
    const struct cpus *cpus = &edf.books.cpus;
    char name[CPU_NAME_TEXT], left_text[UTILIZATION_TEXT], whole[UTILIZATION_TEXT], asked[UTILIZATION_TEXT];
    bool plural = cpus->pooled && CPU_COUNT(&cpus->set) > 1;
    uint64_t share = utilization(request->runtime, window(request));
    void (*say)(struct paragraph_output *, const char *, ...) = share > edf.capacity ? answer_never : answer_no;
    say(out, "%s %s %s of %s left, %s asked%s", cpu_name(cpus, cpu, name), plural ? "have" : "has",
              format_utilization(left, left_text), format_utilization(edf.capacity, whole),
              format_utilization(share, asked),
              request->ignore_admission ? ", and the kernel's own test cannot be ignored" : "");
}

static void refuse(const struct request *request, const struct task *old, uint64_t ceiling,
                   struct paragraph_output *out)
{
    const struct cpu *cpu = cpus_least_loaded(&edf.books.cpus, books_share(old));
    uint64_t left = room(cpu, old);
    if (request->runtime < KERNEL_RUNTIME_MIN)
        answer_never(out, "the runtime is %" PRIu64 "us, the kernel's least is %dus", request->runtime,
                  KERNEL_RUNTIME_MIN);
    else if (request->runtime > ceiling)
        answer_above(out, request, ceiling);
    else
        refuse_load(request, cpu, left, out);
    answer_nearest(out, nearest(request, left, ceiling));
}

static void grant(const struct request *request, struct task *old, const struct cpu *cpu, uint64_t runtime,
                  struct paragraph_output *out)
{
    char cpus[CPU_NAME_TEXT];
    if (request->commit)
        books_enter(&edf.books, old, request->task, cpu->place, charge(runtime, window(request)));
    paragraph_add(out, "answer", "ok");
    answer_plan(out, request, cpu_list(&edf.books.cpus, cpu, cpus), "deadline", 0, runtime);
}

static const char *edf_accept(const struct request *request, struct paragraph_output *out)
{
    if (!is_possible(request, out))
        return NULL;
    struct task *old = books_find(&edf.books, request->task);
    uint64_t ceiling = least(window(request), request->max_runtime);
    uint64_t asked = utilization(request->runtime, window(request));

    /* A change stays where it is if it can: moving a running thread costs it its cache. */
    const struct cpu *cpu = old == NULL ? NULL : &edf.books.cpus.cpu[old->share.place];
    if (cpu == NULL || asked > room(cpu, old))
        cpu = cpus_least_loaded(&edf.books.cpus, books_share(old));

    bool fits = asked <= room(cpu, old); /* eq. 3 */
    bool possible = request->runtime >= KERNEL_RUNTIME_MIN && request->runtime <= ceiling;
    if (!possible || (!fits && !ignores_test(request))) {
        refuse(request, old, ceiling, out);
        return NULL;
    }
    uint64_t runtime = request->runtime; /* all that is given in spite of a failing test */
    if (fits && request->desired_runtime > runtime) /* eq. 4 */
        runtime = least(least(request->desired_runtime, ceiling),
                        runtime_within(room(cpu, old), window(request)));
    grant(request, old, cpu, runtime, out);
    return NULL;
}

static const char *edf_schedule(const struct request *request, struct paragraph_output *out)
{
    uint64_t runtime = request->accepted_runtime > 0 ? request->accepted_runtime : request->runtime;
    if (runtime == 0 || request->period == 0)
        return "a plan without runtime or period";
    struct task *old = books_find(&edf.books, request->task);
    struct cpus *cpus = &edf.books.cpus;
    int place = request->has_cpus ? cpus_place(cpus, &request->cpus) : -1;
    if (place < 0) { /* from before the configuration was changed */
        const struct cpu *cpu = cpus_least_loaded(cpus, books_share(old));
        char list[CPU_NAME_TEXT];
        place = cpu->place;
        paragraph_add_number(out, "update", request->task);
        paragraph_add(out, "cpus", "%s", cpu_list(cpus, cpu, list));
        paragraph_close(out);
    }
    books_enter(&edf.books, old, request->task, place, charge(runtime, window(request)));
    return NULL;
}

static const char *edf_release(const struct request *request, struct paragraph_output *out)
{
    (void)out;
    struct task *task = books_find(&edf.books, request->task);
    if (task != NULL)
        books_strike(&edf.books, task);
    return NULL;
}

static const char *edf_load(const struct request *request)
{
    books_load(&edf.books, request);
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct plugin plugin = {
        .words = words,
        .setup = setup,
        .accept = edf_accept,
        .schedule = edf_schedule,
        .release = edf_release,
        .load = edf_load,
    };
    return plugin_main(argc, argv, &plugin);
}
