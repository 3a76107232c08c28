#include "scans.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "directories.h"
#include "files.h"
#include "order.h"
#include "wishes.h"

enum { TURN_NAMES = 256 };
static const int64_t retry_after = INT64_C(1000000000); /* ns */

/* What has been found, to be looked at in the order in which it came. */
struct find {
    uint64_t task;
    int64_t time; /* change time of the wish, ns */
};

struct finds {
    struct find *list;
    size_t count, room;
};

struct scan {
    TAILQ_ENTRY(scan) next;
    struct user *user;
    DIR *listing;
    bool again, over_limit_told;
    struct finds finds;
};
static TAILQ_HEAD(, scan) scans = TAILQ_HEAD_INITIALIZER(scans);
static struct scan *current;

bool wish_is_as_it_was(const struct wish *wish, struct stamp *json)
{
    bool has_other_names;
    *json = spool_stamp(wish->user, wish->name, ".json", &has_other_names);
    return wish->judged.inode != 0 && stamp_equal(json, &wish->judged) && !wish->judged.fresh && !has_other_names && !wish->linked && !wish->has_tid &&
           wish->judged_tid.inode == 0 && wish->request == NULL && wish->attachment == NULL && wish->awaited == NULL && !wish->recovered &&
           !wish->exited && !wish->dirty;
}

static void believe_closed(struct wish *wish)
{
    wish->written = true;
    wish->closed = OF_JSON | OF_TID;
}

static void remember(struct finds *finds, struct wish *wish)
{
    struct stamp stamp;
    if (wish->line != NULL) { /* waits to be looked at, and keeps its place */
        believe_closed(wish);
        return;
    }
    if (wish_is_as_it_was(wish, &stamp))
        return;
    if (finds->count == finds->room) {
        finds->room = finds->room == 0 ? 64 : finds->room * 2;
        finds->list = realloc(finds->list, finds->room * sizeof *finds->list);
        if (finds->list == NULL)
            abort();
    }
    finds->list[finds->count++] = (struct find){wish->task, stamp.changed};
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
        if (wish == NULL)
            continue;
        believe_closed(wish);
        if (line == NULL)
            wish_queue(wish);
        else
            turns_add(wish, line);
    }
    free(finds->list);
    *finds = (struct finds){0};
}

static void found(struct user *user, const char *name, enum listed what)
{
    if (what == LISTED_OTHER) {
        report_name(user, name);
        return;
    }
    struct wish *wish = wish_find(user, name, false);
    if (wish == NULL) {
        wish = wish_find(user, name, true);
        /* Beyond his limit one is told so, and the rest would be told the same. */
        if (wish->over_limit && current->over_limit_told) {
            wish_forget(wish);
            return;
        }
        current->over_limit_told |= wish->over_limit;
    }
    if (what == LISTED_TID)
        wish->has_tid = true;
    else if (wish->found_by == current)
        return; /* its other file */
    bool known = wish->unchanged && !wish->has_tid;
    wish->found_by = current;
    if (!known)
        remember(&current->finds, wish);
}

static struct scan *scan_of(const struct user *user)
{
    struct scan *scan;
    TAILQ_FOREACH(scan, &scans, next)
        if (scan->user == user)
            return scan;
    return NULL;
}

void scan_begin(struct user *user)
{
    struct scan *scan = user->scanned ? scan_of(user) : NULL;
    if (scan != NULL) {
        scan->again = true;
        return;
    }
    if (user->gone)
        return;
    scan = allocate(sizeof *scan);
    scan->user = user;
    user->scanned = true;
    TAILQ_INSERT_TAIL(&scans, scan, next);
}

/* Known, but not there: its files may have gone. */
static void remember_missing(struct scan *scan)
{
    for (struct wish *wish = scan->user->wishes; wish != NULL; wish = wish->hh.next) {
        if (wish->found_by != scan)
            remember(&scan->finds, wish);
        wish->found_by = NULL;
        wish->unchanged = false; /* said for this scan only */
    }
}

static void drop(struct scan *scan)
{
    TAILQ_REMOVE(&scans, scan, next);
    scan->user->scanned = false;
    if (scan->listing != NULL)
        closedir(scan->listing);
    free(scan->finds.list);
    free(scan);
}

/* False: there is no more. */
static bool look_through(struct scan *scan, int names)
{
    current = scan;
    if (scan->listing == NULL && (scan->listing = spool_list(scan->user->directory)) == NULL)
        directory_again(scan->user, retry_after);
    bool more = spool_list_wishes(scan->user, scan->listing, names, found);
    if (!more && errno != 0)
        directory_again(scan->user, retry_after);
    current = NULL;
    return more;
}

void scans_finish(void)
{
    struct finds all = {0};
    struct scan *scan;
    while ((scan = TAILQ_FIRST(&scans)) != NULL) {
        scan->finds = all;
        (void)look_through(scan, -1);
        remember_missing(scan);
        all = scan->finds;
        scan->finds = (struct finds){0};
        drop(scan);
    }
    queue_finds(&all, turns_of_old());
}

void scan_forget(const struct user *user)
{
    struct scan *scan = user->scanned ? scan_of(user) : NULL;
    if (scan == NULL)
        return;
    for (struct wish *wish = user->wishes; wish != NULL; wish = wish->hh.next)
        wish->found_by = NULL;
    drop(scan);
}

bool scans_are_due(void)
{
    return !TAILQ_EMPTY(&scans);
}

void scans_take_turn(void)
{
    struct scan *scan = TAILQ_FIRST(&scans);
    if (scan == NULL)
        return;
    if (!look_through(scan, TURN_NAMES)) {
        remember_missing(scan);
        queue_finds(&scan->finds, NULL);
        if (!scan->again) {
            drop(scan);
            return;
        }
        if (scan->listing != NULL)
            closedir(scan->listing);
        scan->listing = NULL;
        scan->again = scan->over_limit_told = false;
    }
    TAILQ_REMOVE(&scans, scan, next);
    TAILQ_INSERT_TAIL(&scans, scan, next);
}
