#include "books.h"

#include <stdlib.h>

/* Another plugin's task: a share of each CPU it may run on, for it may be found on any one of them. */
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

static void take(struct books *books, struct share *share, int place, uint32_t weight)
{
    share->place = (uint16_t)place;
    share->weight = weight;
    share->log = books->log == NULL ? 0 : books->log(weight);
    cpus_take(&books->cpus, share);
}

struct task *books_enter(struct books *books, struct task *old, uint64_t id, int place, uint32_t weight)
{
    struct task *task = old;
    if (task == NULL) {
        task = plugin_allocate(1, sizeof *task);
        task->id = id;
        HASH_ADD(hh, books->tasks, id, sizeof task->id, task);
    } else
        cpus_give_back(&books->cpus, &task->share);
    take(books, &task->share, place, weight);
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
    for (size_t number = 0; foreign->count < (int)count; number++)
        if (CPU_ISSET(number, &ours))
            take(books, &foreign->share[foreign->count++], books->cpus.place[number], weight);
    HASH_ADD(hh, books->foreign, id, sizeof foreign->id, foreign);
}

void books_load(struct books *books, const struct request *request)
{
    struct foreign *known;
    HASH_FIND(hh, books->foreign, &request->task, sizeof request->task, known);
    if (known != NULL)
        strike_foreign(books, known);
    uint64_t window = request->period > 0 ? request->period : request->deadline;
    if (request->deadline > 0)
        window = least(window, request->deadline);
    if (request->has_cpus && request->runtime > 0 && window > 0)
        enter_foreign(books, request, charge(request->runtime, window));
}
