#include "watched-threads.h"

#include <dirent.h>
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

void thread_changed(struct member *member, pid_t tid)
{
    struct watched_thread *thread = find(member, tid);
    if (thread == NULL && member->watcher->threads >= THREADS_MAX)
        return;
    if (thread == NULL) {
        thread = watched_allocate(sizeof *thread);
        thread->tid = tid;
        HASH_ADD_INT(member->threads, tid, thread);
        member->watcher->threads++;
    }
    if (!thread->is_changed)
        TAILQ_INSERT_TAIL(&member->changed, thread, of_changed);
    thread->is_changed = true;
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

/* Reads the name of the thread, and tells it if it has changed. An empty name matches no rule, and
 * is told as "?". */
static void look_at(struct member *member, struct watched_thread *thread)
{
    char name[THREAD_NAME_BYTES];
    thread->is_changed = false;
    TAILQ_REMOVE(&member->changed, thread, of_changed);
    if (!read_name(member->process, thread->tid, name)) {
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

void threads_look_at_changed(struct member *member)
{
    struct watched_thread *thread;
    while ((thread = TAILQ_FIRST(&member->changed)) != NULL)
        look_at(member, thread);
}

/* True if the thread is exiting. Such a thread is not added: the kernel has written the thread's
 * last record already, so its end would go unnoticed. */
static bool is_exiting(pid_t tid)
{
    struct identity identity;
    return !thread_look(tid, &identity) || identity.ended;
}

/* True if the thread may be watched. False: the user has THREADS_MAX watched threads already, and
 * this thread is not one of them. */
static bool has_room_for(struct member *member, pid_t tid)
{
    return member->watcher->threads < THREADS_MAX || find(member, tid) != NULL;
}

void threads_list(struct member *member)
{
    char path[PATH_BYTES];
    const struct dirent *entry;
    struct watched_thread *thread, *next;
    uint64_t tid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)member->process);
    DIR *listing = opendir(path);
    while (listing != NULL && (entry = readdir(listing)) != NULL)
        if (parse_number(entry->d_name, INT32_MAX, &tid) && has_room_for(member, (pid_t)tid) &&
            !is_exiting((pid_t)tid)) {
            thread_changed(member, (pid_t)tid);
            thread = find(member, (pid_t)tid);
            if (thread != NULL)
                thread->is_listed = true;
        }
    if (listing != NULL)
        closedir(listing);
    HASH_ITER (hh, member->threads, thread, next) {
        if (!thread->is_listed)
            forget(member, thread);
        else
            thread->is_listed = false;
    }
    threads_look_at_changed(member);
}

void thread_ended(struct member *member, pid_t tid)
{
    struct watched_thread *thread = find(member, tid);
    if (thread != NULL)
        forget(member, thread);
}

void threads_forget(struct member *member, bool is_told)
{
    struct watched_thread *thread, *next;
    HASH_ITER (hh, member->threads, thread, next) {
        thread->is_told &= is_told;
        forget(member, thread);
    }
}
