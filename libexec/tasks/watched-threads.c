#include "watched-threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thread.h"
#include "units.h"

/* THREADS_MAX: how many threads are watched for a user, in all watches together, because each watch
 * looks at its threads. Further threads are not watched. */
enum { THREADS_MAX = 1024, PATH_BYTES = 64 };

static const struct watched_events *tell;

void threads_begin(const struct watched_events *events)
{
    tell = events;
}

void *watched_allocate(size_t size)
{
    void *const zeros = calloc(1, size);
    if (zeros == NULL)
        abort(); /* the broker starts this program again, and tells it all watches */
    return zeros;
}

static void forget(struct member *member, struct watched_thread *thread)
{
    if (thread->is_changed)
        TAILQ_REMOVE(&member->changed, thread, of_changed);
    HASH_DEL(member->threads, thread);
    member->watcher->threads--;
    if (thread->is_told)
        tell->gone(member->id, thread->tid);
    free(thread);
}

static struct watched_thread *find(struct member *member, pid_t tid)
{
    struct watched_thread *thread;
    HASH_FIND_INT(member->threads, &tid, thread);
    return thread;
}

static void queue_changed(struct member *member, struct watched_thread *thread)
{
    if (thread->is_changed)
        return;
    thread->is_changed = true;
    if (thread->is_told)
        TAILQ_INSERT_TAIL(&member->changed, thread, of_changed);
    else
        TAILQ_INSERT_HEAD(&member->changed, thread, of_changed);
}

bool threads_have_room(const struct watcher *watcher)
{
    return watcher->threads < THREADS_MAX;
}

void thread_changed(struct member *member, pid_t tid)
{
    struct watched_thread *thread = find(member, tid);
    if (thread == NULL && !threads_have_room(member->watcher)) {
        member->has_others = true;
        return;
    }
    if (thread == NULL) {
        thread = watched_allocate(sizeof *thread);
        thread->tid = tid;
        HASH_ADD_INT(member->threads, tid, thread);
        member->watcher->threads++;
    }
    queue_changed(member, thread);
}

static bool read_name(pid_t process, pid_t tid, char name[static THREAD_NAME_BYTES])
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)process, (int)tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, name, THREAD_NAME_BYTES);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    name[got - 1] = '\0'; /* instead of the newline */
    paragraph_clean(name);
    return true;
}

/* True if the thread is exiting. Such a thread is not told: the kernel has written the thread's
 * last record already, so its end would go unnoticed. */
static bool is_exiting(pid_t process, pid_t tid)
{
    struct identity identity;
    return !thread_look_within(process, tid, &identity) || identity.ended;
}

/* Reads the name of the thread, and tells it if it has changed. An empty name matches no rule, and
 * is told as "?". */
static void look_at(struct member *member, struct watched_thread *thread)
{
    char name[THREAD_NAME_BYTES];
    thread->is_changed = false;
    TAILQ_REMOVE(&member->changed, thread, of_changed);
    member->watcher->left -= thread->is_told ? COST_OF_FILE : 2 * COST_OF_FILE;
    if ((!thread->is_told && is_exiting(member->process, thread->tid)) ||
        !read_name(member->process, thread->tid, name)) {
        forget(member, thread);
        return;
    }
    if (thread->is_told && strcmp(name, thread->name) == 0)
        return;
    memcpy(thread->name, name, sizeof name);
    thread->is_told = true;
    tell->thread(member->id, thread->tid, name[0] == '\0' ? "?" : name,
                 thread->tid == member->process);
}

/* Queues all known threads, which may have ended, or have other names. */
static void queue_known(struct member *member)
{
    for (struct watched_thread *thread = member->threads; thread != NULL; thread = thread->hh.next)
        if (thread->is_told)
            queue_changed(member, thread);
}

static void begin_listing(struct member *member)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task", (int)member->process);
    member->listing = opendir(path); /* NULL: the process has ended */
    member->is_to_list = member->has_others = false;
    member->watcher->listed = member;
}

static void end_listing(struct member *member)
{
    if (member->watcher->listed != member)
        return;
    if (member->listing != NULL)
        closedir(member->listing);
    member->listing = NULL;
    member->watcher->listed = NULL;
}

/* Lists threads until the turn is over, all threads are listed, or there is no room for another
 * one. A user has one listing at a time, so that the listings need few descriptors. */
static void list_some(struct member *member)
{
    struct watcher *watcher = member->watcher;
    uint64_t tid;
    if (member->is_to_list && watcher->listed == NULL && watcher->left > 0)
        begin_listing(member);
    while (watcher->listed == member && watcher->left > 0) {
        const struct dirent *entry =
            member->has_others || member->listing == NULL ? NULL : readdir(member->listing);
        watcher->left -= COST_OF_ENTRY;
        if (entry == NULL) {
            end_listing(member);
            member->has_listed = true;
            queue_known(member);
        } else if (parse_number(entry->d_name, INT32_MAX, &tid) && find(member, (pid_t)tid) == NULL)
            thread_changed(member, (pid_t)tid);
    }
}

void threads_look(struct member *member)
{
    struct watched_thread *thread;
    list_some(member);
    while (member->watcher->left > 0 && (thread = TAILQ_FIRST(&member->changed)) != NULL)
        look_at(member, thread);
}

bool threads_are_done(const struct member *member)
{
    return !member->is_to_list && member->watcher->listed != member &&
           TAILQ_EMPTY(&member->changed);
}

bool threads_are_complete(const struct member *member)
{
    const struct watched_thread *first = TAILQ_FIRST(&member->changed);
    return member->has_listed && (first == NULL || first->is_told);
}

void thread_ended(struct member *member, pid_t tid)
{
    struct watched_thread *thread = find(member, tid);
    if (thread != NULL)
        forget(member, thread);
    /* there may be room now for the threads that are not watched */
    member->is_to_list |= member->has_others;
}

void threads_forget(struct member *member, bool is_told)
{
    struct watched_thread *thread, *next;
    end_listing(member);
    HASH_ITER (hh, member->threads, thread, next) {
        thread->is_told &= is_told;
        forget(member, thread);
    }
}
