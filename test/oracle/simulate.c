/* Why the synchronous release is enough, for sporadic tasks with deadlines up to their periods:
 *
 * EDF, one CPU: if any release pattern misses at d, let s be the last instant before d with no
 * pending job that is due by d. All work done in [s, d] was released at or after s and due by d,
 * and it is too much. Moving each task's first such release to s, and the others as close as
 * periods allow, only adds to it; that is how a synchronous release begins. Time then repeats with
 * the hyperperiod (Baruah, Rosier, Howell 1990).
 *
 * Fixed priority, one CPU: consider the first miss, of a job of level L released at t, and let s <=
 * t be the last instant at which nothing above L was pending. Nothing of L ran in [s, t], so of
 * each task of L at most one job stands before ours: two would mean an earlier miss. The job waits
 * for those, itself, and what the higher levels release from s on, which is most when all of them
 * begin at s: the synchronous release, with ours the last in the queue of its level. So each task
 * of a level is once the one that loses ties.
 *
 * Their mixture: while SCHED_DEADLINE jobs are pending they have the CPU, in whatever order. To the
 * levels below they are one higher level; above, EDF is alone.
 *
 * Global EDF: the synchronous release is NOT the worst case, and none is known. A miss found here
 * refutes a test that claims to be sufficient; a simulation without a miss does not prove that
 * claim. */
#include "simulate.h"

#include <stddef.h>

/* A CPU that gives less than all of its time: [s, d] in the proofs above gets at least what the
 * supply gives from its beginning on. So a synchronous release at this beginning is the worst
 * case. */

struct job {
    const struct task *task;
    int64_t next; /* the time of the next release */
    int64_t released, due;
    int64_t left;
    bool loses_ties;
    bool running;
    bool may_be_late; /* the task's user has threads that overrun */
};

struct run {
    int count;
    struct job job[TASKS_MAX + 1]; /* the last one: a thread of lower rank that blocks the tasks */
    struct supply supply;          /* the rate is 1 here, see scaled */
};

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t hyperperiod(const struct task_set *set)
{
    int64_t common = 1;
    for (int i = 0; i < set->count; i++)
        common =
            common / greatest_common_divisor(common, set->task[i].period) * set->task[i].period;
    return common;
}

/* ---- Supply ---- */

static bool is_off(const struct supply *supply, int64_t now)
{
    if (now < supply->first || supply->off == 0)
        return now < supply->first;
    return (now - supply->first) % (supply->on + supply->off) >= supply->on;
}

/* Returns the time at which the CPU is next turned on or off. */
static int64_t next_turn(const struct supply *supply, int64_t now)
{
    if (now < supply->first || supply->off == 0)
        return now < supply->first ? supply->first : INT64_MAX;
    const int64_t phase = (now - supply->first) % (supply->on + supply->off);
    return now - phase + supply->on + (phase < supply->on ? 0 : supply->off);
}

/* Returns the set in a unit of time in which the CPU does one unit of work while it is on: times are
 * multiplied by rate, and work by whole. */
static struct task_set scaled(const struct task_set *set)
{
    struct task_set result = *set;
    struct supply *supply = &result.supply;
    if (supply->rate == 0)
        *supply = WHOLE_CPU;
    for (int i = 0; i < set->count; i++) {
        result.task[i].runtime *= supply->whole;
        result.task[i].blocking *= supply->whole;
        result.task[i].deadline *= supply->rate;
        result.task[i].period *= supply->rate;
    }
    supply->first *= supply->rate;
    supply->on *= supply->rate;
    supply->off *= supply->rate;
    return result;
}

/* ---- The order of execution ---- */

static bool runs_before(const struct job *a, const struct job *b)
{
    if (a->task->policy != b->task->policy)
        return a->task->policy == POLICY_DEADLINE;
    if (a->task->policy == POLICY_DEADLINE)
        return a->due < b->due;
    if (a->task->priority != b->task->priority)
        return a->task->priority > b->task->priority;
    if (a->released != b->released)
        return a->released < b->released;
    return b->loses_ties && !a->loses_ties;
}

static void choose(struct run *run, int cpus, int64_t now)
{
    for (int i = 0; i < run->count; i++)
        run->job[i].running = false;
    if (is_off(&run->supply, now))
        return;
    for (int cpu = 0; cpu < cpus; cpu++) {
        struct job *best = NULL;
        for (int i = 0; i < run->count; i++) {
            struct job *job = &run->job[i];
            if (job->left > 0 && !job->running && (best == NULL || runs_before(job, best)))
                best = job;
        }
        if (best == NULL)
            return;
        best->running = true;
    }
}

/* ---- Time ---- */

static void release(struct run *run, int64_t now)
{
    for (int i = 0; i < run->count; i++) {
        struct job *job = &run->job[i];
        if (job->next != now)
            continue;
        job->released = now;
        job->due = now + job->task->deadline;
        job->left = job->task->runtime;
        job->next = now + job->task->period;
    }
}

/* Returns the time of the next release or completion, or at which the CPU is turned on or off. */
static int64_t next_event(const struct run *run, int64_t now)
{
    int64_t next = next_turn(&run->supply, now);
    for (int i = 0; i < run->count; i++) {
        const struct job *job = &run->job[i];
        if (job->next < next)
            next = job->next;
        if (job->running && now + job->left < next)
            next = now + job->left;
    }
    return next;
}

/* Runs until `then`. Returns NULL, or a job that missed its deadline. */
static const struct job *advance(struct run *run, int64_t now, int64_t then)
{
    const struct job *late = NULL;
    for (int i = 0; i < run->count; i++) {
        struct job *job = &run->job[i];
        if (job->left == 0)
            continue;
        if (job->running)
            job->left -= then - now;
        if (!job->may_be_late && (job->due < then || (job->due == then && job->left > 0)))
            late = job;
    }
    return late;
}

static bool run_misses(struct run *run, int cpus, int64_t until, const struct task **task,
                       int64_t *at)
{
    int64_t now = 0;
    while (now < until) {
        release(run, now);
        choose(run, cpus, now);
        int64_t then = next_event(run, now);
        const struct job *late = advance(run, now, then);
        if (late != NULL) {
            *task = late->task;
            *at = late->due;
            return true;
        }
        now = then;
    }
    return false;
}

/* ---- Which task loses ties ---- */

static bool same_level(const struct task *a, const struct task *b)
{
    return a->policy == POLICY_FIFO && b->policy == POLICY_FIFO && a->priority == b->priority;
}

/* In turn `turn` one task of each level loses ties. The order within a level changes nothing for
 * the other levels. Returns the number of turns. */
static int prepare(struct run *run, const struct task_set *set, int turn)
{
    int turns = 1;
    *run = (struct run){.count = set->count, .supply = set->supply};
    for (int i = 0; i < set->count; i++) {
        int place = 0, size = 0;
        for (int j = 0; j < set->count; j++)
            if (same_level(&set->task[i], &set->task[j])) {
                place += j < i;
                size++;
            }
        run->job[i] =
            (struct job){.task = &set->task[i], .loses_ties = size > 0 && place == turn % size};
        if (size > turns)
            turns = size;
    }
    return turns;
}

/* ---- Overruns ---- */

enum { VARIANTS = 4 };

/* A thread overruns in the job that is pending at 0, and is stopped until it has paid back. The job
 * was released at 0; or the thread woke at 0, `laxity` before the absolute deadline of a job, with
 * the part of the runtime that the kernel leaves then. */
static void overrun(struct job *job, int64_t overrun, int64_t laxity)
{
    const struct task *task = job->task;
    const int64_t periods = (overrun + task->runtime - 1) / task->runtime;
    laxity = laxity < task->deadline ? laxity : task->deadline;
    job->may_be_late = true;
    job->left = task->runtime * laxity / task->deadline + overrun;
    job->due = laxity;
    job->next = laxity - task->deadline + (1 + periods) * task->period;
}

static int64_t shortest_deadline(const struct task_set *set, int user)
{
    int64_t shortest = 0;
    for (int i = 0; i < set->count; i++)
        if (set->task[i].layer == user && (shortest == 0 || set->task[i].deadline < shortest))
            shortest = set->task[i].deadline;
    return shortest;
}

/* Returns how long before its deadline a thread of another user wakes. Variants: 0: as short as
 * possible, but before the deadlines of the user; 1: the same for every second thread; 2: its own
 * deadline; 3: the shortest deadline of the user. */
static int64_t laxity_in(int variant, int place, const struct task *task, int64_t shortest)
{
    const bool own = variant == 2 || (variant == 1 && place % 2 == 0);
    return own ? task->deadline : variant == 3 ? shortest : 1;
}

static bool overruns_miss(const struct task_set *set, int cpus, const struct task **task,
                          int64_t *at)
{
    for (int user = 0; user < LAYERS; user++) {
        const int64_t shortest = shortest_deadline(set, user);
        for (int variant = 0; shortest != 0 && variant < VARIANTS; variant++) {
            struct run run;
            (void)prepare(&run, set, 0);
            for (int i = 0; i < run.count; i++)
                if (set->task[i].layer != user)
                    overrun(&run.job[i], set->overrun,
                            laxity_in(variant, i, &set->task[i], shortest));
            if (run_misses(&run, cpus, hyperperiod(set), task, at))
                return true;
        }
    }
    return false;
}

/* ---- Blocking ---- */

/* Adds a thread of lower rank that has the rank of `victim` from 0 on, for the blocking time, because
 * it holds a lock. Only deadlines of this rank are looked at: a deadline task counts the blocking
 * time in all intervals from its deadline on, and a level in its own response time. */
static void block(struct run *run, const struct task *victim)
{
    for (int i = run->count++; i > 0; i--)
        run->job[i] = run->job[i - 1];
    run->job[0] = (struct job){.task = victim,
                               .next = INT64_MAX,
                               .released = -1,
                               .due = victim->deadline,
                               .left = victim->blocking,
                               .may_be_late = true};
    for (int i = 1; i < run->count; i++) {
        const struct task *task = run->job[i].task;
        run->job[i].may_be_late = victim->policy == POLICY_DEADLINE
                                      ? task->policy != POLICY_DEADLINE
                                      : !same_level(task, victim);
    }
}

static bool blocked_misses(const struct task_set *set, int cpus, const struct task **task,
                           int64_t *at)
{
    for (int i = 0; i < set->count; i++) {
        int turns = set->task[i].blocking > 0;
        for (int turn = 0; turn < turns; turn++) {
            struct run run;
            turns = prepare(&run, set, turn);
            block(&run, &set->task[i]);
            if (run_misses(&run, cpus, hyperperiod(set), task, at))
                return true;
        }
    }
    return false;
}

static bool scaled_misses(const struct task_set *set, int cpus, const struct task **task,
                          int64_t *at)
{
    if (set->overrun > 0)
        return overruns_miss(set, cpus, task, at);
    int64_t until = hyperperiod(set);
    int turns = 1;
    for (int turn = 0; turn < turns; turn++) {
        struct run run;
        turns = prepare(&run, set, turn);
        if (run_misses(&run, cpus, until, task, at))
            return true;
    }
    return blocked_misses(set, cpus, task, at);
}

bool global_misses(const struct task_set *set, int cpus, struct miss *miss)
{
    const struct task_set run = scaled(set);
    const struct task *task = NULL;
    if (!scaled_misses(&run, cpus, &task, &miss->at))
        return false;
    miss->task = (int)(task - run.task);
    miss->at /= run.supply.rate;
    return true;
}

bool partitioned_misses(const struct task_set *set, struct miss *miss)
{
    bool done[TASKS_MAX] = {false};
    for (int first = 0; first < set->count; first++) {
        struct task_set alone = {.overrun = set->overrun, .supply = set->supply};
        int place[TASKS_MAX];
        for (int i = first; i < set->count; i++)
            if (!done[i] && set->task[i].cpu == set->task[first].cpu) {
                done[i] = true;
                place[alone.count] = i;
                alone.task[alone.count++] = set->task[i];
            }
        if (alone.count > 0 && global_misses(&alone, 1, miss)) {
            miss->task = place[miss->task];
            return true;
        }
    }
    return false;
}

/* ---- Arrangements ---- */

/* Returns the priority of a period: 1, and one more for each distinct longer period. So the shortest
 * period gets the highest priority. */
static int rate_monotonic(const struct task_set *set, int64_t period)
{
    int longer = 0;
    for (int i = 0; i < set->count; i++) {
        bool counted = set->task[i].period <= period;
        for (int j = 0; j < i && !counted; j++)
            counted = set->task[j].period == set->task[i].period;
        longer += !counted;
    }
    return 1 + longer;
}

void arrange(struct task_set *set, enum arrangement arrangement)
{
    for (int i = 0; i < set->count; i++) {
        struct task *task = &set->task[i];
        bool layered = arrangement == TWO_LAYERS || arrangement == THREE_LAYERS;
        bool deadline = arrangement == ALL_DEADLINE || (layered && task->layer == 0);
        task->policy = deadline ? POLICY_DEADLINE : POLICY_FIFO;
        task->priority = deadline ? 0 : rate_monotonic(set, task->period);
        if (arrangement == THREE_LAYERS && task->layer == 1)
            task->priority += TASKS_MAX;
        task->cpu = 0;
    }
}

bool same_order(const struct task_set *a, const struct task_set *b)
{
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < i; j++) {
            int in_a = a->task[i].priority - a->task[j].priority,
                in_b = b->task[i].priority - b->task[j].priority;
            if ((in_a < 0) != (in_b < 0) || (in_a > 0) != (in_b > 0) ||
                a->task[i].cpu != b->task[i].cpu)
                return false;
        }
    return true;
}
