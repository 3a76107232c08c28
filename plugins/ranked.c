#include "ranked.h"

void ranked_init(struct ranked *ranked, const struct config *config, const char *policy)
{
    cpus_init(&ranked->books.cpus, &config->cpus, false, true);
    levels_init(&ranked->levels, config->low, config->high, ranked->books.cpus.count);
    ranked->policy = policy;
}

void ranked_grant(struct ranked *ranked, const struct request *request, int place,
                  const struct rank *rank, const char *partial, struct paragraph_output *out)
{
    struct levels *levels = &ranked->levels;
    struct task *task = books_find(&ranked->books, request->task);
    struct level_trial trial;
    levels->restoring = false;
    int level = levels_try(levels, &trial, task, place, rank->key, rank->level, LEVEL_PREFERRED);
    if (request->commit && partial == NULL) {
        task = books_enter(&ranked->books, task, request->task, place, rank->weight, rank->timing);
        levels_keep(levels, &trial, task, out);
        levels_settle(levels, out);
    } else
        levels_undo(&trial);
    char cpus[CPU_NAME_TEXT];
    paragraph_add(out, "answer", partial == NULL ? "ok" : "partial");
    if (partial != NULL)
        paragraph_add(out, "reason", partial);
    answer_plan(out, request, cpu_list(&ranked->books.cpus, &ranked->books.cpus.cpu[place], cpus),
                ranked->policy, level, request->runtime);
}

/* Writes an update if the task could not get the level or the CPU of its plan. The plan may come
 * from an earlier configuration. */
static void correct_plan(const struct ranked *ranked, const struct request *request,
                         const struct task *task, bool moved, struct paragraph_output *out)
{
    char cpus[CPU_NAME_TEXT];
    if (!moved && request->priority == task->key->level)
        return;
    paragraph_add_number(out, "update", task->id);
    if (moved)
        paragraph_add_format(out, "cpus", "%s",
                             cpu_list(&ranked->books.cpus,
                                      &ranked->books.cpus.cpu[task->share.place], cpus));
    paragraph_add_number(out, "priority", task->key->level);
    paragraph_close(out);
}

void ranked_schedule(struct ranked *ranked, const struct request *request, const struct rank *rank,
                     struct paragraph_output *out)
{
    struct levels *levels = &ranked->levels;
    struct books *books = &ranked->books;
    struct task *task = books_find(books, request->task);
    cpus_keep_all(&books->cpus);
    int place = request->has_cpus ? cpus_place(&books->cpus, &request->cpus) : -1;
    bool moved = place < 0;
    if (moved)
        place = cpus_least_loaded(&books->cpus, books_share(task))->place;
    struct level_trial trial;
    levels_try(levels, &trial, task, place, rank->key, rank->level,
               levels->restoring ? LEVEL_RESTORED : LEVEL_OFFERED);
    task = books_enter(books, task, request->task, place, rank->weight, rank->timing);
    levels_keep(levels, &trial, task, out);
    levels_settle(levels, out);
    correct_plan(ranked, request, task, moved, out);
}

void ranked_release(struct ranked *ranked, uint64_t id, struct paragraph_output *out)
{
    struct task *task = books_find(&ranked->books, id);
    ranked->levels.restoring = false;
    if (task == NULL)
        return;
    struct level_trial trial;
    levels_try_release(&ranked->levels, &trial, task);
    levels_keep(&ranked->levels, &trial, NULL, out);
    books_strike(&ranked->books, task);
    levels_settle(&ranked->levels, out);
}
