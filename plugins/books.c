#include "books.h"

#include <stdlib.h>

/* Another plugin's task. The task has its whole share on each CPU on which it may run, because it
 * may use any of these CPUs. */
struct foreign {
    uint64_t id;
    UT_hash_handle hh;
    int count;
    struct share share[];
};

uint32_t charge(uint64_t runtime, uint64_t window)
{
    return (uint32_t)least(utilization(runtime, window), ONE_CPU);
}

struct task *books_find(const struct books *books, uint64_t id)
{
    struct task *task;
    HASH_FIND(hh, books->tasks, &id, sizeof id, task);
    return task;
}

const struct share *books_share(const struct task *task)
{
    return task == NULL ? NULL : &task->share;
}

struct timing request_timing(const struct request *request, uint64_t runtime)
{
    if (runtime == 0 || request->period == 0)
        return (struct timing){.owner = request->owner};
    uint64_t deadline =
        request->deadline > 0 ? least(request->deadline, request->period) : request->period;
    return (struct timing){runtime, request->period, deadline, request->owner, request->blocking};
}

static void take(struct books *books, struct share *share, int place, uint32_t weight,
                 struct timing timing)
{
    share->place = (uint16_t)place;
    share->weight = weight;
    share->timing = timing;
    share->log = books->log == NULL ? 0 : books->log(weight);
    cpus_take(&books->cpus, share);
}

struct task *books_enter(struct books *books, struct task *old, uint64_t id, int place,
                         uint32_t weight, struct timing timing)
{
    struct task *task = old;
    if (task == NULL) {
        task = plugin_allocate(1, sizeof *task);
        task->id = id;
        HASH_ADD(hh, books->tasks, id, sizeof task->id, task);
    } else
        cpus_give_back(&books->cpus, &task->share);
    take(books, &task->share, place, weight, timing);
    return task;
}

void books_strike(struct books *books, struct task *task)
{
    cpus_give_back(&books->cpus, &task->share);
    HASH_DEL(books->tasks, task);
    free(task);
}

static void strike_foreign(struct books *books, struct foreign *foreign)
{
    for (int i = 0; i < foreign->count; i++)
        cpus_give_back(&books->cpus, &foreign->share[i]);
    HASH_DEL(books->foreign, foreign);
    free(foreign);
}

static void enter_foreign(struct books *books, const struct request *request, uint32_t weight)
{
    cpu_set_t ours;
    CPU_AND(&ours, &request->cpus, &books->cpus.set);
    size_t count = (size_t)CPU_COUNT(&ours);
    if (count == 0)
        return;
    struct foreign *foreign = plugin_allocate(1, sizeof *foreign + count * sizeof *foreign->share);
    foreign->id = request->task;
    for (size_t number = 0; foreign->count < (int)count; number++) {
        if (!CPU_ISSET(number, &ours))
            continue;
        struct share *share = &foreign->share[foreign->count++];
        share->foreign = true;
        take(books, share, books->cpus.place[number], weight,
             request_timing(request, request->runtime));
    }
    HASH_ADD(hh, books->foreign, id, sizeof foreign->id, foreign);
}

static struct foreign *find_foreign(const struct books *books, uint64_t id)
{
    struct foreign *foreign;
    HASH_FIND(hh, books->foreign, &id, sizeof id, foreign);
    return foreign;
}

const struct share *books_share_on(const struct books *books, uint64_t id, int place)
{
    const struct foreign *foreign = find_foreign(books, id);
    const struct task *own = books_find(books, id);
    if (own != NULL && own->share.place == place)
        return &own->share;
    for (int i = 0; foreign != NULL && i < foreign->count; i++)
        if (foreign->share[i].place == place)
            return &foreign->share[i];
    return NULL;
}

bool books_has_own(const struct books *books, const struct cpu *cpu, uint64_t but)
{
    const struct share *share, *gone = books_share(books_find(books, but));
    LIST_FOREACH (share, &cpu->shares, beside)
        if (!share->foreign && share != gone)
            return true;
    return false;
}

static uint32_t foreign_weight(const struct books *books, const struct request *request)
{
    uint64_t window = request->period > 0 ? request->period : request->deadline;
    if (books->by_period)
        window = request->period;
    else if (request->deadline > 0)
        window = least(window, request->deadline);
    return request->runtime > 0 && window > 0 ? charge(request->runtime, window) : 0;
}

void books_load(struct books *books, const struct request *request, bool counts)
{
    struct foreign *known = find_foreign(books, request->task);
    if (known != NULL)
        strike_foreign(books, known);
    uint32_t weight = foreign_weight(books, request);
    if (request->has_cpus && counts && (weight > 0 || books->keep_unstated))
        enter_foreign(books, request, weight);
}
