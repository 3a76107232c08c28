/* edf - earliest deadline first on SCHED_DEADLINE. Each task gets a partition, the least loaded one
 * (worst fit, section 5.1 of the ReTiF paper).
 * - partition=unthrottled: each CPU is a partition; the kernel's own admission test is off.
 * - partition=cpuset: each CPU is a partition, with the kernel's own admission test.
 * - partition=global: all CPUs form one pool, with the kernel's own admission test. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "demand.h"
#include "exact.h"
#include "tick-overruns.h"
#include "tick.h"

enum partition { GLOBAL, UNTHROTTLED, CPUSET };
enum admission { UNSET = -1, DENSITY, DEMAND, BANDWIDTH, GFB };
enum { KERNEL_RUNTIME_MIN = 2 }; /* us; the kernel's minimum is 1024 ns */
enum { OVERRUN_MAX = 1000000 };  /* us */
/* us: the shortest time of the kernel's timer that ends runtimes (hrtick_start in
 * kernel/sched/core.c). A thread with 1 us of runtime left can run for these 10 us */
enum { TIMER_LEAST = 10 };
enum { OVERRUNS_TEXT = 160 };

static struct {
    struct books books;
    int admission, partition;
    /* the largest sum of utilizations on one CPU or in the pool (U^thr in the paper) */
    uint64_t capacity;
    uint64_t period_min, period_max; /* the kernel's limits, us */
    uint64_t overrun; /* us: what a thread can take beyond its runtime; 0: not counted */
    uint64_t tick;    /* us: overrun=tick; 0: the overrun does not depend on the tick */
    struct exact exact;
} edf = {.admission = UNSET, .exact = {.blocking = TIME_UNSET, .fair_server = TIME_UNSET}};

/* Takes the value of overrun=. "tick" stands for the length of a tick. It stands for less if a
 * request says that the broker keeps the kernel's timer for runtimes turned on (know_timer). A
 * timer that another program has turned on does not count, because it may be turned off later. */
static const char *take_overrun(const char *value)
{
    if (strcmp(value, "tick") == 0)
        edf.overrun = edf.tick = tick_length();
    else if (strcmp(value, "none") == 0)
        edf.overrun = 0;
    else if (!parse_time_or_none(value, &edf.overrun) || edf.overrun > OVERRUN_MAX)
        return "must be tick, none, or a time up to 1s, such as 4ms";
    return NULL;
}

static const struct word words[] = {
    {.key = "admission",
     .values = {"density", "demand", "bandwidth", "gfb"},
     .choice = &edf.admission},
    {.key = "partition", .values = {"global", "unthrottled", "cpuset"}, .choice = &edf.partition},
    {.key = "overrun", .take = take_overrun},
    EXACT_WORDS(edf.exact),
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
    /* A test of the sum of C/T over several CPUs proves only that lateness is bounded. */
    static const char *const proves[] = {[DENSITY] = "sufficient",
                                         [DEMAND] = "exact",
                                         [BANDWIDTH] = "necessary",
                                         [GFB] = "sufficient"};
    if (config->high != 0)
        return "a deadline plugin has no POSIX priorities: use priority=-";
    bool pooled = edf.partition == GLOBAL;
    if (edf.admission == UNSET)
        edf.admission = pooled ? BANDWIDTH : DENSITY;
    if (pooled != (edf.admission == BANDWIDTH || edf.admission == GFB))
        return pooled
                   ? "partition=global tests all CPUs together: use admission=bandwidth or admission=gfb"
                   : "admission=bandwidth and admission=gfb test all CPUs together: use partition=global, or admission=density or admission=demand";
    uint64_t threshold = config->threshold;
    /* 0.9 is the part that the kernel's own test leaves, because the kernel's fair servers take
     * 0.05 */
    if (threshold == THRESHOLD_UNSET)
        threshold = edf.partition == UNTHROTTLED ? ONE_CPU / 100 * 95 : ONE_CPU / 10 * 9;
    edf.capacity = pooled ? threshold * (uint64_t)CPU_COUNT(&config->cpus) : threshold;
    edf.period_min = kernel_setting("/proc/sys/kernel/sched_deadline_period_min_us", 100);
    edf.period_max = kernel_setting("/proc/sys/kernel/sched_deadline_period_max_us", 4194304);
    cpus_init(&edf.books.cpus, &config->cpus, pooled, false);
    edf.books.by_period = edf.admission == DEMAND || edf.admission == BANDWIDTH;
    edf.exact.books = &edf.books;
    edf.exact.name = "processor demand";
    edf.exact.word = "admission=demand";
    edf.exact.limit = threshold;
    edf.exact.overrun = edf.overrun;
    edf.exact.test = demand_fits;
    config->tests = proves[edf.admission];
    config->judges = !pooled;
    config->tested = true;
    return exact_setup(&edf.exact, edf.admission == DEMAND);
}

/* ---- The weight of a task, and the remaining capacity ---- */

/* Returns the smaller of period and deadline in us: min{T, D} in equation 1 of the ReTiF paper. */
static uint64_t window(const struct request *request)
{
    return request->deadline > 0 ? least(request->period, request->deadline) : request->period;
}

/* Returns the time by which the admission test divides the runtime, in us. */
static uint64_t base(const struct request *request)
{
    return edf.admission == DENSITY || edf.admission == GFB ? window(request) : request->period;
}

static uint64_t heaviest(const struct cpu *cpu, const struct share *gone)
{
    uint64_t weight = 0;
    const struct share *share;
    LIST_FOREACH (share, &cpu->shares, beside)
        if (share != gone && share->weight > weight)
            weight = share->weight;
    return weight;
}

/* Returns the largest density d that fits into the pool, by the test of Goossens, Funk and Baruah:
 * on m CPUs of speed s, the sum of all densities is at most m s - (m - 1) max, where max is the
 * largest density. Both the sum and the maximum include d. left: m s minus the other tasks'
 * densities. */
static uint64_t room_in_pool(const struct cpu *pool, const struct share *gone, uint64_t left)
{
    uint64_t count = (uint64_t)CPU_COUNT(&edf.books.cpus.set), most = heaviest(pool, gone);
    if (left / count >= most)
        return left / count;
    return left > (count - 1) * most ? left - (count - 1) * most : 0;
}

static struct overruns overruns_beside(const struct cpu *cpu, const struct share *gone,
                                       const struct timing *asked)
{
    return edf.overrun == 0 ? (struct overruns){0} : overruns_on(cpu, gone, asked, edf.overrun);
}

/* Returns the utilization that is left on the CPU without the share `gone`: U^thr - U_k, minus the
 * part of the CPU that overruns can take beside a task with the timing `asked`. The runtime in
 * `asked` does not matter. */
static uint64_t room_without(const struct cpu *cpu, const struct share *gone,
                             const struct timing *asked)
{
    uint64_t load = cpu_sums_without(cpu, gone).load + overruns_beside(cpu, gone, asked).part;
    uint64_t left = load < edf.capacity ? edf.capacity - load : 0;
    return edf.admission == GFB ? room_in_pool(cpu, gone, left) : left;
}

static uint64_t room(const struct cpu *cpu, const struct task *old, const struct request *request)
{
    const struct timing asked = request_timing(request, request->runtime);
    return room_without(cpu, books_share(old), &asked);
}

/* Returns the CPU with the most room, for a test that compares a sum with a limit. A runtime that
 * does not fit on this CPU fits on no CPU. If overruns count, this CPU need not be the least loaded
 * one. */
static const struct cpu *roomiest(const struct task *old, const struct request *request)
{
    const struct cpu *best = cpus_least_loaded(&edf.books.cpus, books_share(old));
    uint64_t most = room(best, old, request);
    struct cpu *cpu;
    if (edf.overrun == 0)
        return best;
    CPUS_FOREACH(cpu, &edf.books.cpus)
    {
        const uint64_t here = room(cpu, old, request);
        best = here > most ? cpu : best;
        most = here > most ? here : most;
    }
    return best;
}

static uint64_t room_when_empty(void)
{
    return edf.admission == GFB ? edf.capacity / (uint64_t)CPU_COUNT(&edf.books.cpus.set)
                                : edf.capacity;
}

/* True if the plugin grants the task without the test. This is possible only if the kernel's own
 * admission test is off. */
static bool ignores_test(const struct request *request)
{
    return request->ignore_admission && edf.partition == UNTHROTTLED;
}

/* Sets the longest overrun of a thread. The request says with hrtick= whether a timer of the kernel
 * ends runtimes, or only the tick. */
static void know_timer(const struct request *request)
{
    if (edf.tick != 0)
        edf.overrun = request->hrtick != 0 ? least(edf.tick, TIMER_LEAST) : edf.tick;
    edf.exact.overrun = edf.overrun;
}

/* ---- The requests ---- */

/* True if the request can be a SCHED_DEADLINE reservation at all; else writes the refusal. */
static bool is_possible(const struct request *request, struct paragraph_output *out)
{
    if (request->period == 0)
        answer_never(out, "needs a period");
    else if (request->runtime == 0)
        answer_never(out, "needs a runtime");
    else if (request->deadline > request->period)
        answer_never(out,
                     "the deadline is %" PRIu64
                     "us, SCHED_DEADLINE allows up to the period, %" PRIu64 "us",
                     request->deadline, request->period);
    else if (request->blocking > 0 && edf.admission != DEMAND)
        answer_never(out, "does not count blocking times: only admission=demand does");
    else if (request->period < edf.period_min || request->period > edf.period_max)
        answer_never(out,
                     "the period is %" PRIu64 "us, the kernel allows %" PRIu64 "us to %" PRIu64
                     "us",
                     request->period, edf.period_min, edf.period_max);
    else
        return true;
    return false;
}

/* Returns the largest runtime that would be granted; 0: no runtime. */
static uint64_t nearest(const struct request *request, const struct task *old, uint64_t ceiling)
{
    struct timing timing = request_timing(request, request->runtime);
    uint64_t runtime = ceiling;
    if (edf.admission == DEMAND && !ignores_test(request))
        runtime = exact_nearest(&edf.exact, old, &timing, ceiling);
    else if (!ignores_test(request))
        runtime = least(ceiling,
                        runtime_within(room(roomiest(old, request), old, request), base(request)));
    return runtime < KERNEL_RUNTIME_MIN ? 0 : runtime;
}

/* Returns the least runtime of the kernel, if a request for it would be granted; else 0. largest:
 * the largest runtime that would be granted; 0: the search for this runtime took too long. */
static uint64_t nearest_minimum(const struct request *request, const struct task *old,
                                uint64_t ceiling, uint64_t largest)
{
    struct timing timing = request_timing(request, KERNEL_RUNTIME_MIN);
    struct exact_refusal why;
    const bool is_granted =
        edf.admission == DEMAND && !ignores_test(request)
            ? ceiling >= KERNEL_RUNTIME_MIN && exact_choose(&edf.exact, old, &timing, &why) != NULL
            : largest > 0;
    return is_granted ? KERNEL_RUNTIME_MIN : 0;
}

/* Writes the overruns as words for a refusal; "" if there are no overruns. Returns text. */
static const char *in_words(struct overruns overruns, char text[static OVERRUNS_TEXT])
{
    text[0] = '\0';
    if (overruns.part > 0)
        snprintf(text, OVERRUNS_TEXT,
                 " when other users' threads overrun (%" PRIu64 " times up to %" PRIu64
                 "us in %" PRIu64 "us, the shortest deadline of a user)",
                 overruns.count, edf.overrun, overruns.window);
    return text;
}

static void refuse_load(const struct request *request, const struct task *old,
                        struct paragraph_output *out)
{
    const struct cpus *cpus = &edf.books.cpus;
    const struct cpu *cpu = roomiest(old, request);
    const struct timing timing = request_timing(request, request->runtime);
    char name[CPU_NAME_TEXT], left[UTILIZATION_TEXT], whole[UTILIZATION_TEXT],
        asked[UTILIZATION_TEXT], beside[OVERRUNS_TEXT];
    bool plural = cpus->pooled && CPU_COUNT(&cpus->set) > 1;
    uint64_t share = utilization(request->runtime, base(request));
    void (*say)(struct paragraph_output *, const char *, ...) =
        share > room_when_empty() ? answer_never : answer_no;
    say(out, "%s %s %s of %s left%s%s, %s asked%s", cpu_name(cpus, cpu, name),
        plural ? "have" : "has", format_utilization(room(cpu, old, request), left),
        format_utilization(edf.capacity, whole), edf.admission == GFB ? " beside the largest" : "",
        in_words(overruns_beside(cpu, books_share(old), &timing), beside),
        format_utilization(share, asked),
        request->ignore_admission ? ", and the kernel's own test cannot be ignored" : "");
}

static void refuse(const struct request *request, const struct task *old, uint64_t ceiling,
                   const struct exact_refusal *why, struct paragraph_output *out)
{
    bool in_bounds = request->runtime >= KERNEL_RUNTIME_MIN && request->runtime <= ceiling;
    uint64_t runtime = nearest(request, old, in_bounds ? request->runtime - 1 : ceiling);
    struct timing timing = request_timing(request, request->runtime);
    if (request->runtime < KERNEL_RUNTIME_MIN)
        answer_never(out, "the runtime is %" PRIu64 "us, the kernel's least is %dus",
                     request->runtime, KERNEL_RUNTIME_MIN);
    else if (request->runtime > ceiling)
        answer_above(out, request, ceiling);
    else if (edf.admission == DEMAND)
        exact_refuse(&edf.exact, why, &timing, runtime, out);
    else
        refuse_load(request, old, out);
    answer_nearest(out, runtime);
    if (request->runtime < KERNEL_RUNTIME_MIN)
        answer_nearest_minimum(out, nearest_minimum(request, old, ceiling, runtime));
}

/* A CPU, and the runtime that it can give. cpu = NULL: no CPU has enough time. */
struct offer {
    const struct cpu *cpu;
    uint64_t runtime;
};

static struct offer offer_by_sum(const struct request *request, const struct task *old,
                                 uint64_t most)
{
    uint64_t asked = utilization(request->runtime, base(request));
    /* A changed task stays on its CPU if possible, because a moved thread has to fill its cache
     * anew. */
    const struct cpu *cpu = old == NULL ? NULL : &edf.books.cpus.cpu[old->share.place];
    if (cpu == NULL || !cpu_is_open(&edf.books.cpus, cpu) || asked > room(cpu, old, request))
        cpu = roomiest(old, request);
    const uint64_t left = room(cpu, old, request);
    if (asked > left) /* equation 3 of the ReTiF paper */
        return (struct offer){NULL, 0};
    /* equation 4 */
    return (struct offer){cpu, least(most, runtime_within(left, base(request)))};
}

static struct offer offer_by_demand(const struct request *request, const struct task *old,
                                    uint64_t most, struct exact_refusal *why)
{
    struct timing timing = request_timing(request, request->runtime);
    const struct cpu *cpu = exact_choose(&edf.exact, old, &timing, why);
    return (struct offer){cpu, cpu == NULL ? 0 : exact_most(&edf.exact, cpu, old, &timing, most)};
}

static void grant(const struct request *request, struct task *old, const struct cpu *cpu,
                  uint64_t runtime, struct paragraph_output *out)
{
    char cpus[CPU_NAME_TEXT];
    if (request->commit)
        books_enter(&edf.books, old, request->task, cpu->place, charge(runtime, base(request)),
                    request_timing(request, runtime));
    paragraph_add(out, "answer", "ok");
    answer_plan(out, request, cpu_list(&edf.books.cpus, cpu, cpus), "deadline", 0, runtime);
}

static const char *edf_accept(const struct request *request, struct paragraph_output *out)
{
    know_timer(request);
    if (!is_possible(request, out) || !cpus_keep_within(&edf.books.cpus, request, out))
        return NULL;
    struct task *old = books_find(&edf.books, request->task);
    uint64_t ceiling = least(window(request), request->max_runtime);
    uint64_t most = request->desired_runtime > request->runtime
                        ? least(request->desired_runtime, ceiling)
                        : request->runtime;
    struct offer offer = {NULL, 0};
    struct exact_refusal why = {NULL, TOO_MUCH};
    if (request->runtime >= KERNEL_RUNTIME_MIN && request->runtime <= ceiling) {
        offer = edf.admission == DEMAND ? offer_by_demand(request, old, most, &why)
                                        : offer_by_sum(request, old, most);
        /* a task that is granted without the test gets only the needed runtime, not the desired
         * one */
        if (offer.cpu == NULL && ignores_test(request))
            offer = (struct offer){cpus_least_loaded(&edf.books.cpus, books_share(old)),
                                   request->runtime};
    }
    if (offer.cpu != NULL)
        grant(request, old, offer.cpu, offer.runtime, out);
    else
        refuse(request, old, ceiling, &why, out);
    return NULL;
}

static const char *edf_schedule(const struct request *request, struct paragraph_output *out)
{
    uint64_t runtime = request->accepted_runtime > 0 ? request->accepted_runtime : request->runtime;
    if (runtime == 0 || request->period == 0)
        return "the plan lacks runtime= or period=";
    struct task *old = books_find(&edf.books, request->task);
    struct cpus *cpus = &edf.books.cpus;
    cpus_keep_all(cpus);
    int place = request->has_cpus ? cpus_place(cpus, &request->cpus) : -1;
    if (place < 0) { /* the plan is from an earlier configuration */
        const struct cpu *cpu = cpus_least_loaded(cpus, books_share(old));
        char list[CPU_NAME_TEXT];
        place = cpu->place;
        paragraph_add_number(out, "update", request->task);
        paragraph_add(out, "cpus", cpu_list(cpus, cpu, list));
        paragraph_close(out);
    }
    books_enter(&edf.books, old, request->task, place, charge(runtime, base(request)),
                request_timing(request, runtime));
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

/* True if another plugin's task takes time from this plugin's threads. False for FIFO and RR
 * threads: this plugin's threads are SCHED_DEADLINE, and run before them. */
static bool counts(const struct request *request)
{
    return request->policy != POLICY_FIFO && request->policy != POLICY_RR;
}

static const char *edf_load(const struct request *request)
{
    books_load(&edf.books, request, counts(request));
    return NULL;
}

/* Tests the sum of densities with another plugin's task, on every CPU on which that task may run
 * and this plugin has a task. False: the sum is too large on some CPU, and the refusal is
 * written. */
static bool judge_by_sum(const struct request *request, struct paragraph_output *out)
{
    const struct cpus *cpus = &edf.books.cpus;
    const struct cpu *fullest = NULL;
    struct timing timing = request_timing(request, request->runtime);
    /* the deadline does not count, because the other plugin tests the deadline of its task
     * itself */
    timing.deadline = 0;
    uint64_t left = UINT64_MAX, asked = utilization(request->runtime, window(request));
    char name[CPU_NAME_TEXT], left_text[UTILIZATION_TEXT], asked_text[UTILIZATION_TEXT];
    for (int i = 0; i < cpus->count; i++) {
        const struct cpu *cpu = &cpus->cpu[i];
        if (!CPU_ISSET((size_t)cpu->number, &request->cpus) ||
            !books_has_own(&edf.books, cpu, request->task))
            continue;
        uint64_t here = room_without(cpu, books_share_on(&edf.books, request->task, i), &timing);
        fullest = here < left ? cpu : fullest;
        left = least(left, here);
    }
    if (asked <= left)
        return true;
    answer_no(out, "%s has %s left, %s asked", cpu_name(cpus, fullest, name),
              format_utilization(left, left_text), format_utilization(asked, asked_text));
    answer_nearest(out, runtime_within(left, window(request)));
    return false;
}

static const char *edf_judge(const struct request *request, struct paragraph_output *out)
{
    bool holds = true;
    know_timer(request);
    if (request->has_cpus && request->runtime > 0 && request->period > 0 && counts(request))
        holds = edf.admission == DEMAND ? exact_judge(&edf.exact, request, out)
                                        : edf.admission != DENSITY || judge_by_sum(request, out);
    if (!holds)
        return NULL;
    paragraph_add(out, "answer", "ok");
    return edf_load(request);
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
        .judge = edf_judge,
    };
    return plugin_main(argc, argv, &plugin);
}
