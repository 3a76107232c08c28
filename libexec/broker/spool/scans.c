#include "scans.h"

#include <stdlib.h>

#include "memory.h"
#include "turns.h"
#include "verdict.h"
#include "wishes.h"

struct find {
    uint64_t task;
    int64_t time; /* change time of the wish, ns */
};

struct finds {
    struct find *list;
    size_t count, room;
};

struct scan {
    int64_t since; /* CLOCK_REALTIME, ns */
    bool over_limit_told;
    struct finds finds;
};

static bool gathering;
static struct finds gathered;

static bool is_quiet(const struct wish *wish)
{
    return wish->request == NULL && !wish->recovered && !wish->exited && !wish->dirty && wish->recovery == NULL;
}

static void remember(struct finds *finds, const struct wish *wish, int64_t time)
{
    if (finds->count == finds->room) {
        finds->room = finds->room == 0 ? 64 : finds->room * 2;
        finds->list = realloc(finds->list, finds->room * sizeof *finds->list);
        if (finds->list == NULL)
            abort();
    }
    finds->list[finds->count++] = (struct find){wish->task, time};
}

static int by_time(const void *one, const void *other)
{
    const struct find *a = one, *b = other;
    return a->time != b->time ? a->time < b->time ? -1 : 1 : a->task < b->task ? -1 : a->task > b->task;
}

/* In the line of each one's user, or all in the given one. */
static void queue_finds(struct finds *finds, struct line *line)
{
    if (finds->count > 0)
        qsort(finds->list, finds->count, sizeof *finds->list, by_time);
    for (size_t i = 0; i < finds->count; i++) {
        struct wish *wish = wish_of_task(finds->list[i].task);
        if (wish != NULL && line == NULL)
            wish_queue(wish);
        else if (wish != NULL)
            turns_add(wish, line);
    }
    free(finds->list);
    *finds = (struct finds){0};
}

void scan_forget(struct user *user)
{
    if (user->scan == NULL)
        return;
    for (struct wish *wish = user->wishes; wish != NULL; wish = wish->hh.next)
        wish->found = 0;
    free(user->scan->finds.list);
    free(user->scan);
    user->scan = NULL;
}

void scan_begin(struct user *user, int64_t since)
{
    scan_forget(user);
    user->scan = allocate(sizeof *user->scan);
    user->scan->since = since;
}

/* NULL: beyond his limit one is told so, and the rest would be told the same. */
static struct wish *find(struct user *user, const char *name)
{
    struct wish *wish = wish_find(user, name, false);
    if (wish != NULL)
        return wish;
    wish = wish_find(user, name, true);
    if (wish->over_limit && user->scan->over_limit_told) {
        wish_forget(wish);
        return NULL;
    }
    user->scan->over_limit_told |= wish->over_limit;
    return wish;
}

/* One that was known comes before what is new: what it gives up can be theirs. */
void scan_file(struct user *user, const char *name, bool is_json, const struct stamp *stamp)
{
    struct wish *wish = user->scan == NULL ? NULL : find(user, name);
    if (wish == NULL)
        return;
    const struct stamp *judged = is_json ? &wish->judged : &wish->judged_tid;
    wish->found |= is_json ? OF_JSON : OF_TID;
    if (!is_quiet(wish) || judged->fresh || !stamp_equal(stamp, judged))
        remember(&user->scan->finds, wish, wish->judged.inode != 0 ? 0 : is_json ? stamp->changed : INT64_MAX);
}

void scan_verdict(struct user *user, const char *name, int64_t decided)
{
    struct wish *wish = user->scan == NULL ? NULL : find(user, name);
    if (wish == NULL)
        return;
    wish->found |= OF_VERDICT;
    wish->verdict_is_told = decided == wish->decided;
    if (wish->judged.inode == 0 && wish->grant == NULL)
        remember(&user->scan->finds, wish, INT64_MAX); /* perhaps of nothing */
}

/* Decided, written down, and then somebody died before the owner was told? */
static void tell_again(struct wish *wish, int64_t since)
{
    const bool told = (wish->found & OF_VERDICT) != 0 && wish->verdict_is_told;
    if (told || wish->decided == 0 || wish->decided >= since || !is_quiet(wish) || wish->sighting != NULL)
        return;
    if (wish->grant != NULL)
        verdict_again(wish, RECOVER, "the grant is in force");
    else if (wish->judged.inode != 0)
        wish->judged = (struct stamp){0}; /* why it was refused went with who knew: it is asked again */
}

/* Known, but not there: its files may have gone. */
static void look_for_missing(struct scan *scan, struct wish *wish)
{
    const bool had_json = wish->judged.inode != 0;
    tell_again(wish, scan->since);
    const bool has_json = (wish->found & OF_JSON) != 0, has_tid = (wish->found & OF_TID) != 0;
    if (has_json != had_json || has_json != (wish->judged.inode != 0) || has_tid != (wish->judged_tid.inode != 0) || wish->sighting != NULL || !is_quiet(wish))
        remember(&scan->finds, wish, has_json ? INT64_MAX : 0);
    wish->found = 0;
}

static void gather(struct finds *finds)
{
    for (size_t i = 0; i < finds->count; i++) {
        const struct wish *wish = wish_of_task(finds->list[i].task);
        if (wish != NULL)
            remember(&gathered, wish, finds->list[i].time);
    }
    finds->count = 0;
}

void scan_end(struct user *user)
{
    struct scan *scan = user->scan;
    if (scan == NULL)
        return;
    for (struct wish *wish = user->wishes; wish != NULL; wish = wish->hh.next)
        look_for_missing(scan, wish);
    user->scan = NULL;
    user->scanned = true;
    if (gathering)
        gather(&scan->finds);
    queue_finds(&scan->finds, NULL);
    free(scan);
}

void scans_gather(void)
{
    gathering = true;
}

void scans_gathered(void)
{
    gathering = false;
    queue_finds(&gathered, turns_of_old());
}
