/* rm - rate monotonic on SCHED_FIFO, partitioned by worst fit (section 5.2 of the ReTiF paper)
 *
 * The shorter the period, the higher the priority (equation 5 of the paper). Besides the paper's
 * necessary test there are two sufficient tests and an exact test. A task that states no runtime is
 * not tested and has no weight, except with admission=rta, which refuses such a task. */
#include "exact.h"
#include "hyperbolic.h"
#include "ranked.h"
#include "response_time.h"

enum admission { HYPERBOLIC, LIU_LAYLAND, NECESSARY, RTA };
/* the largest number of tasks on a CPU for the exact product of the hyperbolic bound; its
 * computation looks at all tasks, and must end soon */
enum { EXACT_TASKS = 4096 };

static struct {
    struct ranked ranked;
    int admission;
    /* the limit of the sum of utilizations, in billionths; no test passes above one CPU */
    uint64_t limit;
    struct exact exact;
    /* while exact.c tests a CPU: the trial (levels.h) with the requested task on this CPU */
    struct level_trial trial;
} rm = {.exact = {.blocking = TIME_UNSET, .fair_server = TIME_UNSET}};

static const struct word words[] = {
    {.key = "admission",
     .values = {"hyperbolic", "liu-layland", "necessary", "rta"},
     .choice = &rm.admission},
    EXACT_WORDS(rm.exact),
    {0},
};

/* ---- Response times: the levels as they would be with the task ---- */

static uint32_t key_of(uint64_t period)
{
    return (uint32_t)(TIME_MAX - period);
}

static int enter_level(const struct cpu *cpu, const struct task *old, const struct timing *timing)
{
    return levels_try(&rm.ranked.levels, &rm.trial, old, cpu->place, key_of(timing->period), 0,
                      LEVEL_PREFERRED);
}

static void undo_level(void)
{
    levels_undo(&rm.trial);
}

static int level_of(const struct share *share)
{
    const struct task *task =
        (const struct task *)((const char *)share - offsetof(struct task, share));
    return task->key->level;
}

static void setup_rta(struct config *config)
{
    rm.exact.books = &rm.ranked.books;
    rm.exact.name = "response times";
    rm.exact.word = "admission=rta";
    rm.exact.limit = rm.limit;
    rm.exact.test = response_times_fit;
    rm.exact.enter = enter_level;
    rm.exact.undo = undo_level;
    rm.exact.level_of = level_of;
    rm.ranked.books.keep_unstated = true;
    config->tests = "exact";
    config->judges = config->tested = true;
}

static const char *setup(struct config *config)
{
    if (config->high == 0)
        return "needs a range of POSIX priorities: priority=LOW-HIGH";
    rm.limit = least(config->threshold, ONE_CPU);
    ranked_init(&rm.ranked, config, "fifo");
    rm.ranked.books.log = rm.admission == HYPERBOLIC ? log2_above : NULL;
    /* these two tests add up C/T, not C/min(T, D) */
    rm.ranked.books.by_period = rm.admission == NECESSARY || rm.admission == RTA;
    config->tests = rm.admission == NECESSARY ? "necessary" : "sufficient";
    const char *why = exact_setup(&rm.exact, rm.admission == RTA);
    if (why == NULL && rm.admission == RTA)
        setup_rta(config);
    return why;
}

/* ---- The tests ---- */

/* A utilization that is tested. log: log2(1 + U) for the hyperbolic bound; else 0. */
struct ask {
    uint32_t weight;
    uint64_t log;
};

static struct ask ask_for(uint32_t weight)
{
    return (struct ask){.weight = weight,
                        .log = rm.admission == HYPERBOLIC ? log2_above(weight) : 0};
}

/* True if prod(1 + U_i) <= 2. The product is over the tasks of the CPU, without the share `gone`,
 * and one more task with the utilization `weight`. */
static bool product_fits(const struct cpu *cpu, const struct share *gone, uint32_t weight)
{
    static uint32_t factors[EXACT_TASKS];
    size_t count = 0;
    const struct share *share;
    factors[count++] = weight;
    LIST_FOREACH (share, &cpu->shares, beside)
        if (share != gone)
            factors[count++] = share->weight;
    return product_within_two(factors, count);
}

/* Tests the hyperbolic bound. If the sum of logarithms does not decide, computes the product. Each
 * logarithm in the sum is too large by less than LOG_ERROR, and never too small. */
static enum outcome test_hyperbolic(const struct cpu *cpu, const struct share *gone, struct ask ask)
{
    struct sums sums = cpu_sums_without(cpu, gone);
    uint64_t count = sums.counted + 1;
    unsigned __int128 log = sums.log + ask.log;
    if (log <= LOG_ONE)
        return FITS;
    if (log - LOG_ONE >= (unsigned __int128)count * LOG_ERROR)
        return TOO_MUCH;
    if (count > EXACT_TASKS)
        return TOO_COMPLEX;
    return product_fits(cpu, gone, ask.weight) ? FITS : TOO_MUCH;
}

/* Tests the bound of Liu and Layland: U <= n (2^(1/n) - 1), which is n log2(1 + U/n) <= 1. */
static enum outcome test_liu_layland(uint64_t load, uint64_t count)
{
    uint32_t average = (uint32_t)((load + count - 1) / count);
    return (unsigned __int128)count * log2_above(average) <= LOG_ONE ? FITS : TOO_MUCH;
}

static enum outcome test(const struct cpu *cpu, const struct share *gone, struct ask ask)
{
    struct sums sums = cpu_sums_without(cpu, gone);
    if (sums.load + ask.weight > rm.limit)
        return TOO_MUCH;
    if (rm.admission == HYPERBOLIC)
        return test_hyperbolic(cpu, gone, ask);
    if (rm.admission == LIU_LAYLAND)
        return test_liu_layland(sums.load + ask.weight, sums.counted + 1);
    return FITS;
}

/* ---- Choosing a CPU ---- */

/* Finds a CPU on which the task passes the test. A changed task stays on its CPU if possible.
 * Otherwise the function tries the CPUs in the order of rising load (worst fit). The bounds depend
 * on more than the sum of utilizations, so a task may fit on a more loaded CPU and not on the least
 * loaded one. NULL: the task fits on no CPU. */
static const struct cpu *find_cpu(const struct share *gone, struct ask ask)
{
    struct cpus *cpus = &rm.ranked.books.cpus;
    const struct cpu *own = cpus_own(cpus, gone);
    if (own != NULL && test(own, gone, ask) == FITS)
        return own;
    struct cpu *cpu;
    CPUS_FOREACH(cpu, cpus)
    {
        if (cpu == own)
            continue;
        if (cpu->sums.load + ask.weight > rm.limit)
            return NULL; /* all following CPUs have a higher load */
        if (test(cpu, gone, ask) == FITS)
            return cpu;
    }
    return NULL;
}

/* The largest utilization that can still be granted, and the CPU that has it. */
struct best {
    const struct cpu *cpu;
    uint32_t weight;
    struct ask more; /* another CPU is better if this larger utilization fits on it */
};

static void improve(struct best *best, const struct cpu *cpu, const struct share *gone)
{
    if (best->weight == ONE_CPU || test(cpu, gone, best->more) != FITS)
        return;
    uint32_t fits = best->more.weight, fails = ONE_CPU + 1;
    while (fails - fits > 1) {
        uint32_t middle = fits + (fails - fits) / 2;
        if (test(cpu, gone, ask_for(middle)) == FITS)
            fits = middle;
        else
            fails = middle;
    }
    *best = (struct best){cpu, fits, ask_for(fits < ONE_CPU ? fits + 1 : fits)};
}

static struct best find_best(const struct share *gone)
{
    struct cpus *cpus = &rm.ranked.books.cpus;
    struct best best = {.cpu = cpus_least_loaded(cpus, gone), .more = ask_for(1)};
    const struct cpu *own = cpus_own(cpus, gone);
    if (own != NULL)
        improve(&best, own, gone);
    struct cpu *cpu;
    CPUS_FOREACH(cpu, cpus)
    {
        if (cpu == own)
            continue;
        if (cpu->sums.load + best.more.weight > rm.limit)
            break;
        improve(&best, cpu, gone);
    }
    return best;
}

/* ---- The requests ---- */

/* Returns the name of the test by which the CPU cannot take a utilization above `weight`. */
static const char *what_binds(const struct cpu *cpu, const struct share *gone, uint32_t weight)
{
    static const char *const bounds[] = {"hyperbolic bound", "bound of Liu and Layland"};
    if (cpu_sums_without(cpu, gone).load + weight >= rm.limit)
        return rm.limit < ONE_CPU ? "threshold" : "necessary test";
    return bounds[rm.admission];
}

static void refuse(const struct request *request, const struct share *gone, uint64_t ceiling,
                   struct paragraph_output *out)
{
    struct best best = find_best(gone);
    struct ask ask = ask_for(charge(request->runtime, request->period));
    char name[CPU_NAME_TEXT], left[UTILIZATION_TEXT], asked[UTILIZATION_TEXT];
    cpu_name(&rm.ranked.books.cpus, best.cpu, name);
    if (request->runtime > ceiling)
        answer_above(out, request, ceiling);
    else if (test(best.cpu, gone, ask) == TOO_COMPLEX)
        answer_no(out, "%s has more than %d tasks, too many for the exact test that is needed here",
                  name, EXACT_TASKS);
    else
        answer_no(out, "%s has %s left by the %s, %s asked", name,
                  format_utilization(best.weight, left), what_binds(best.cpu, gone, best.weight),
                  format_utilization(ask.weight, asked));
    uint64_t runtime = runtime_within(best.weight, request->period);
    answer_nearest(out, request->ignore_admission ? ceiling : least(ceiling, runtime));
}

/* Chooses the CPU for a request. weight: the utilization; 0 if the request states no runtime. NULL:
 * no CPU. */
static const struct cpu *choose(const struct request *request, const struct share *gone,
                                uint32_t weight)
{
    struct cpus *cpus = &rm.ranked.books.cpus;
    if (request->runtime == 0) /* a task without a weight fits on any CPU */
        return cpus_own(cpus, gone) != NULL ? cpus_own(cpus, gone) : cpus_next(cpus, NULL);
    const struct cpu *cpu = find_cpu(gone, ask_for(weight));
    return cpu == NULL && request->ignore_admission ? cpus_least_loaded(cpus, gone) : cpu;
}

static struct rank rank_of(const struct request *request, uint64_t runtime, int level)
{
    return (struct rank){
        .key = key_of(request->period),
        .level = level,
        .weight = runtime > 0 ? charge(runtime, request->period) : 0,
        .timing = request_timing(request, runtime),
    };
}

/* Handles op=accept with admission=rta. Only the CPU that the task joins is tested. On the CPU that
 * the task leaves, changes of levels can only help the remaining tasks. This is also true if two
 * tasks shared a level and get a level each. Both tasks met their deadlines on the shared level, so
 * at most one job of the more urgent task runs before a job of the other task is done. */
static void accept_by_response_times(const struct request *request, struct paragraph_output *out)
{
    const struct task *old = books_find(&rm.ranked.books, request->task);
    struct timing timing = request_timing(request, request->runtime);
    if (request->runtime == 0) {
        answer_never(out, "needs a runtime: admission=rta grants nothing that is not tested");
        return;
    }
    rm.ranked.levels.restoring = false;
    uint64_t ceiling = least(timing.deadline, request->max_runtime);
    bool is_possible = request->runtime <= ceiling;
    struct exact_refusal why;
    const struct cpu *cpu = is_possible ? exact_choose(&rm.exact, old, &timing, &why) : NULL;
    if (cpu == NULL && is_possible && request->ignore_admission)
        cpu = cpus_least_loaded(&rm.ranked.books.cpus, books_share(old));
    if (cpu != NULL) {
        struct rank rank = rank_of(request, request->runtime, 0);
        ranked_grant(&rm.ranked, request, cpu->place, &rank, NULL, out);
        return;
    }
    uint64_t most = is_possible ? request->runtime - 1 : ceiling;
    uint64_t nearest =
        request->ignore_admission ? most : exact_nearest(&rm.exact, old, &timing, most);
    if (is_possible)
        exact_refuse(&rm.exact, &why, &timing, nearest, out);
    else
        answer_above(out, request, ceiling);
    answer_nearest(out, nearest);
}

static const char *rm_accept(const struct request *request, struct paragraph_output *out)
{
    if (request->period == 0) {
        answer_never(out, "needs a period");
        return NULL;
    }
    if (request->blocking > 0 && rm.admission != RTA) {
        answer_never(out, "does not count blocking times: only admission=rta does");
        return NULL;
    }
    if (!cpus_keep_within(&rm.ranked.books.cpus, request, out))
        return NULL;
    if (rm.admission == RTA) {
        accept_by_response_times(request, out);
        return NULL;
    }
    const struct share *gone = books_share(books_find(&rm.ranked.books, request->task));
    uint64_t ceiling = least(request->period, request->max_runtime);
    const char *partial = NULL;
    if (request->deadline > 0 && request->deadline < request->period) {
        ceiling = least(ceiling, request->deadline);
        partial = "a deadline below the period is not tested: it counts as the period";
    }
    if (request->runtime == 0)
        partial = "nothing is tested without a runtime: only the order of periods is kept";
    struct rank rank = rank_of(request, request->runtime, 0);
    const struct cpu *cpu = choose(request, gone, rank.weight);
    if (cpu == NULL || request->runtime > ceiling)
        refuse(request, gone, ceiling, out);
    else
        ranked_grant(&rm.ranked, request, cpu->place, &rank, partial, out);
    return NULL;
}

static const char *rm_schedule(const struct request *request, struct paragraph_output *out)
{
    if (request->period == 0)
        return "the plan lacks period=";
    uint64_t runtime = request->accepted_runtime > 0 ? request->accepted_runtime : request->runtime;
    struct rank rank = rank_of(request, runtime, (int)request->priority);
    ranked_schedule(&rm.ranked, request, &rank, out);
    return NULL;
}

static const char *rm_release(const struct request *request, struct paragraph_output *out)
{
    ranked_release(&rm.ranked, request->task, out);
    return NULL;
}

/* True if another plugin's task takes time from this plugin's tasks. False for threads with a
 * priority below the plugin's range, because they run only when this plugin's threads do not
 * run. */
static bool counts(const struct request *request)
{
    bool has_level = request->policy == POLICY_FIFO || request->policy == POLICY_RR;
    return !has_level || request->priority == 0 ||
           request->priority >= (uint64_t)rm.ranked.levels.low;
}

static const char *rm_load(const struct request *request)
{
    books_load(&rm.ranked.books, request, counts(request));
    return NULL;
}

static const char *rm_judge(const struct request *request, struct paragraph_output *out)
{
    if (rm.admission == RTA && counts(request) && !exact_judge(&rm.exact, request, out))
        return NULL;
    paragraph_add(out, "answer", "ok");
    return rm_load(request);
}

int main(int argc, char **argv)
{
    static const struct plugin plugin = {
        .words = words,
        .setup = setup,
        .accept = rm_accept,
        .schedule = rm_schedule,
        .release = rm_release,
        .load = rm_load,
        .judge = rm_judge,
    };
    return plugin_main(argc, argv, &plugin);
}
