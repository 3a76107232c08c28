#include "exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tick-overruns.h"

enum { FAIR_SERVER = 50000 }; /* us per second: the kernel's default from Linux 6.12 on */

/* The value of supply=, and a part of a sentence that names this value: "" for a whole CPU. */
static struct supply supply = {ONE_CPU, 0};
static char with_supply[64];

const char *exact_take_supply(const char *value)
{
    char share[16] = "";
    const char *comma = strchr(value, ',');
    if (comma != NULL && (size_t)(comma - value) < sizeof share)
        memcpy(share, value, (size_t)(comma - value));
    if (!parse_utilization(share, &supply.alpha) || supply.alpha == 0 || supply.alpha > ONE_CPU ||
        !parse_time_or_none(comma + 1, &supply.delta))
        return "must be ALPHA,DELTA: a share of a CPU above 0 and up to 1, and a time, such as "
               "0.95,5ms";
    if (!is_whole(&supply))
        snprintf(with_supply, sizeof with_supply, " with supply=%.40s", value);
    return NULL;
}

const char *exact_setup(struct exact *exact, bool is_exact)
{
    bool given = exact->blocking != TIME_UNSET || exact->fair_server != TIME_UNSET;
    exact->blocking = exact->blocking == TIME_UNSET ? 0 : exact->blocking;
    exact->fair_server = exact->fair_server == TIME_UNSET ? FAIR_SERVER : exact->fair_server;
    exact->supply = supply;
    if (!is_exact && !is_whole(&supply))
        return "a supply= below a whole CPU needs an exact test: admission=demand of edf, or "
               "admission=rta of rm";
    return given && !is_exact ? "blocking= and fair_server= need an exact test" : NULL;
}

/* ---- One CPU ---- */

/* The task that is tested together with the tasks of a CPU. */
struct candidate {
    struct timing timing;
    const struct task *old; /* the task's present state, if the books have the task */
    /* true: the candidate is a task of another plugin, which the books may have under `id` */
    bool foreign;
    uint64_t id;
};

struct probe {
    struct task_set set;
    struct set_task *asked;
};

/* Returns the number of steps that it costs to sort `count` tasks by level, and, if `compares`, to
 * compare the users of each two tasks. */
static uint64_t collecting_steps(uint64_t count, bool compares)
{
    return 50 + 4 * count + (compares ? count * count / 8 : 0);
}

static void collect(const struct exact *exact, const struct cpu *cpu, const struct share *gone,
                    struct probe *probe)
{
    const struct share *share;
    LIST_FOREACH (share, &cpu->shares, beside) {
        if (share == gone)
            continue;
        bool is_ranked = exact->level_of != NULL && !share->foreign;
        set_add(&probe->set, &share->timing, is_ranked ? exact->level_of(share) : LEVEL_ABOVE);
    }
}

/* Collects the tasks of the CPU, and the candidate, for a test. Returns FITS if the CPU can be
 * tested, or the reason why it cannot be tested. */
static enum outcome prepare(const struct exact *exact, const struct cpu *cpu,
                            const struct candidate *candidate, struct probe *probe, uint64_t *steps)
{
    const struct share *gone = candidate->foreign
                                   ? books_share_on(exact->books, candidate->id, cpu->place)
                                   : books_share(candidate->old);
    struct sums sums = cpu_sums_without(cpu, gone);
    probe->set.count = 0;
    if (sums.unstated > 0)
        return UNSTATED;
    if (sums.counted >= SET_TASKS)
        return TOO_MANY;
    if (!spend(steps, collecting_steps(sums.counted, exact->overrun > 0)))
        return TOO_COMPLEX;
    bool tries = !candidate->foreign && exact->enter != NULL;
    int level = tries ? exact->enter(cpu, candidate->old, &candidate->timing) : LEVEL_ABOVE;
    collect(exact, cpu, gone, probe);
    probe->asked = set_add(&probe->set, &candidate->timing, level);
    if (exact->overrun > 0)
        overruns_enter(&probe->set, exact->overrun);
    if (tries)
        exact->undo();
    return FITS;
}

static enum outcome test(const struct exact *exact, const struct task_set *set, uint64_t *steps)
{
    const struct set_task *task = &set->task[1];
    size_t count = set->count;
    if (compare_utilization(task, count, exact->limit) > 0)
        return TOO_MUCH;
    if (fair_server_acts(task, count, exact->fair_server, &exact->supply)) {
        task--;
        count++;
    }
    return exact->test(task, count, (struct conditions){exact->blocking, exact->supply}, steps);
}

static enum outcome test_with(const struct exact *exact, struct probe *probe, uint64_t runtime,
                              uint64_t *steps)
{
    uint64_t given = least(*steps, TEST_STEPS), left = given;
    probe->asked->timing.runtime = runtime;
    probe->set.task[0] = fair_server_task(exact->fair_server, &exact->supply);
    enum outcome outcome =
        spend(&left, probe->set.count) ? test(exact, &probe->set, &left) : TOO_COMPLEX;
    *steps -= given - left;
    return outcome;
}

/* Searches for the largest runtime that fits, from `fits` up to below `fails`. A runtime does not
 * count as fitting if its test needs too many steps. */
static uint64_t largest(const struct exact *exact, struct probe *probe, uint64_t fits,
                        uint64_t fails, uint64_t *steps)
{
    if (fails - fits > 1 && test_with(exact, probe, fails - 1, steps) == FITS)
        return fails - 1;
    while (fails - fits > 1) {
        uint64_t middle = fits + (fails - fits) / 2;
        if (test_with(exact, probe, middle, steps) == FITS)
            fits = middle;
        else
            fails = middle;
    }
    return fits;
}

/* ---- Choosing a CPU ---- */

static enum outcome takes(const struct exact *exact, const struct cpu *cpu,
                          const struct candidate *candidate, uint64_t *steps)
{
    struct probe probe;
    enum outcome outcome = prepare(exact, cpu, candidate, &probe, steps);
    return outcome == FITS ? test_with(exact, &probe, candidate->timing.runtime, steps) : outcome;
}

/* True if the sum of C/T alone shows that the task does not fit on this CPU, even if the load is
 * corrected by its rounding errors. Then the task fits on no CPU with a higher load either. */
static bool is_full(const struct exact *exact, const struct cpu *cpu, uint64_t runtime,
                    uint64_t period)
{
    return cpu->sums.load + utilization(runtime, period) > exact->limit + SET_TASKS + 1;
}

static bool tries(const struct exact *exact, const struct cpu *cpu,
                  const struct candidate *candidate, struct exact_refusal *why, uint64_t *steps)
{
    enum outcome outcome = takes(exact, cpu, candidate, steps);
    if (outcome > why->outcome)
        *why = (struct exact_refusal){cpu, outcome};
    return outcome == FITS;
}

static const struct cpu *choose(const struct exact *exact, const struct candidate *candidate,
                                struct exact_refusal *why)
{
    struct cpus *cpus = &exact->books->cpus;
    uint64_t steps = SEARCH_STEPS;
    const struct cpu *own = cpus_own(cpus, books_share(candidate->old));
    *why = (struct exact_refusal){cpus_least_loaded(cpus, books_share(candidate->old)), TOO_MUCH};
    if (own != NULL && tries(exact, own, candidate, why, &steps))
        return own;
    struct cpu *cpu;
    CPUS_FOREACH(cpu, cpus)
    {
        if (cpu == own)
            continue;
        if (steps == 0 || is_full(exact, cpu, candidate->timing.runtime, candidate->timing.period))
            return NULL;
        if (tries(exact, cpu, candidate, why, &steps))
            return cpu;
    }
    return NULL;
}

const struct cpu *exact_choose(const struct exact *exact, const struct task *old,
                               const struct timing *timing, struct exact_refusal *why)
{
    struct candidate candidate = {.timing = *timing, .old = old};
    return choose(exact, &candidate, why);
}

uint64_t exact_most(const struct exact *exact, const struct cpu *cpu, const struct task *old,
                    const struct timing *timing, uint64_t most)
{
    struct candidate candidate = {.timing = *timing, .old = old};
    struct probe probe;
    uint64_t steps = SEARCH_STEPS;
    bool can_search =
        prepare(exact, cpu, &candidate, &probe, &steps) == FITS && most > timing->runtime;
    return can_search ? largest(exact, &probe, timing->runtime, most + 1, &steps) : timing->runtime;
}

/* ---- The nearest runtime ---- */

static void improve(const struct exact *exact, const struct cpu *cpu,
                    const struct candidate *candidate, uint64_t ceiling, uint64_t *best,
                    uint64_t *steps)
{
    struct probe probe;
    if (*best < ceiling && prepare(exact, cpu, candidate, &probe, steps) == FITS &&
        test_with(exact, &probe, *best + 1, steps) == FITS)
        *best = largest(exact, &probe, *best + 1, ceiling + 1, steps);
}

/* True if a new request with this runtime would be granted. The function chooses a CPU as for a new
 * request, with the limit of steps of a new request, because a refusal must name only a runtime
 * that would be granted. */
static bool would_be_granted(const struct exact *exact, struct candidate candidate,
                             uint64_t runtime)
{
    struct exact_refusal why;
    candidate.timing.runtime = runtime;
    return choose(exact, &candidate, &why) != NULL;
}

uint64_t exact_nearest(const struct exact *exact, const struct task *old,
                       const struct timing *timing, uint64_t ceiling)
{
    struct cpus *cpus = &exact->books->cpus;
    struct candidate candidate = {.timing = *timing, .old = old};
    uint64_t steps = SEARCH_STEPS, best = 0;
    const struct cpu *own = cpus_own(cpus, books_share(old));
    if (own != NULL)
        improve(exact, own, &candidate, ceiling, &best, &steps);
    struct cpu *cpu;
    CPUS_FOREACH(cpu, cpus)
    {
        if (best == ceiling || steps == 0 || is_full(exact, cpu, best + 1, timing->period))
            break;
        if (cpu != own)
            improve(exact, cpu, &candidate, ceiling, &best, &steps);
    }
    bool exact_one = best > 0 && would_be_granted(exact, candidate, best) &&
                     (best == ceiling || !would_be_granted(exact, candidate, best + 1));
    return exact_one ? best : 0;
}

/* ---- Refusals ---- */

static bool fits_nowhere(const struct exact *exact, const struct timing *timing)
{
    struct probe probe = {0};
    uint64_t steps = TEST_STEPS;
    probe.asked = set_add(&probe.set, timing, 0);
    return test_with(exact, &probe, timing->runtime, &steps) == TOO_MUCH;
}

/* Writes the refusal of a task when the CPU cannot be tested. */
static void refuse_test(const struct exact *exact, const struct exact_refusal *why,
                        struct paragraph_output *out)
{
    char name[CPU_NAME_TEXT];
    cpu_name(&exact->books->cpus, why->cpu, name);
    if (why->outcome == UNSTATED)
        answer_no(out, "%s has a task that states no runtime or no period, which %s cannot count",
                  name, exact->word);
    else if (why->outcome == TOO_MANY)
        answer_no(out, "too complex: %s has %d tasks, the most that %s tests", name, SET_TASKS,
                  exact->word);
    else
        answer_no(out, "too complex: the %s on %s would take too long to compute", exact->name,
                  name);
}

void exact_refuse(const struct exact *exact, const struct exact_refusal *why,
                  const struct timing *timing, uint64_t nearest, struct paragraph_output *out)
{
    if (fits_nowhere(exact, timing))
        answer_never(out,
                     "by the %s%s, the task does not fit even on an empty CPU: %" PRIu64
                     "us in %" PRIu64 "us",
                     exact->name, with_supply, timing->runtime, timing->deadline);
    else if (why->outcome != TOO_MUCH)
        refuse_test(exact, why, out);
    else if (nearest > 0)
        answer_no(out, "by the %s%s, a runtime of %" PRIu64 "us fits, %" PRIu64 "us asked",
                  exact->name, with_supply, nearest, timing->runtime);
    else
        answer_no(out, "by the %s%s, no CPU can run the task beside the other tasks there",
                  exact->name, with_supply);
}

/* ---- Other plugins' tasks ---- */

/* True if this plugin's tasks keep their deadlines beside the candidate, another plugin's task, on
 * every CPU on which the candidate may run. */
static bool is_borne(const struct exact *exact, const struct request *request,
                     const struct candidate *candidate, struct exact_refusal *why)
{
    const struct cpus *cpus = &exact->books->cpus;
    uint64_t steps = SEARCH_STEPS;
    for (int i = 0; i < cpus->count; i++) {
        const struct cpu *cpu = &cpus->cpu[i];
        if (!CPU_ISSET((size_t)cpu->number, &request->cpus) ||
            !books_has_own(exact->books, cpu, request->task))
            continue;
        enum outcome outcome =
            candidate->timing.period == 0 ? UNSTATED : takes(exact, cpu, candidate, &steps);
        if (outcome != FITS) {
            *why = (struct exact_refusal){cpu, outcome};
            return false;
        }
    }
    return true;
}

static bool is_borne_with(const struct exact *exact, const struct request *request,
                          struct candidate candidate, uint64_t runtime)
{
    struct exact_refusal why;
    candidate.timing.runtime = runtime;
    return is_borne(exact, request, &candidate, &why);
}

/* Returns the largest runtime of another plugin's task beside which this plugin's tasks keep their
 * deadlines, on all CPUs of that task. The loop tests one CPU after another; each CPU may lower the
 * runtime that the CPUs before it allowed. */
static uint64_t nearest_load(const struct exact *exact, const struct request *request,
                             const struct candidate *candidate)
{
    const struct cpus *cpus = &exact->books->cpus;
    uint64_t steps = SEARCH_STEPS, best = candidate->timing.runtime;
    for (int i = 0; i < cpus->count && best > 0; i++) {
        const struct cpu *cpu = &cpus->cpu[i];
        struct probe probe;
        if (!CPU_ISSET((size_t)cpu->number, &request->cpus) ||
            !books_has_own(exact->books, cpu, request->task))
            continue;
        if (prepare(exact, cpu, candidate, &probe, &steps) != FITS)
            return 0;
        if (test_with(exact, &probe, best, &steps) != FITS)
            best = largest(exact, &probe, 0, best, &steps);
    }
    bool exact_one = best > 0 && is_borne_with(exact, request, *candidate, best) &&
                     !is_borne_with(exact, request, *candidate, best + 1);
    return exact_one ? best : 0;
}

bool exact_judge(const struct exact *exact, const struct request *request,
                 struct paragraph_output *out)
{
    struct candidate candidate = {.timing = request_timing(request, request->runtime),
                                  .foreign = true,
                                  .id = request->task};
    struct exact_refusal why;
    char name[CPU_NAME_TEXT];
    if (!request->has_cpus || is_borne(exact, request, &candidate, &why))
        return true;
    if (candidate.timing.period == 0)
        answer_no(out,
                  "the task states no runtime or no period, which %s needs to test the tasks on %s",
                  exact->word, cpu_name(&exact->books->cpus, why.cpu, name));
    else if (why.outcome != TOO_MUCH)
        refuse_test(exact, &why, out);
    else
        answer_no(out, "by the %s%s, tasks on %s would miss deadlines", exact->name, with_supply,
                  cpu_name(&exact->books->cpus, why.cpu, name));
    if (candidate.timing.period != 0)
        answer_nearest(out, nearest_load(exact, request, &candidate));
    return false;
}
