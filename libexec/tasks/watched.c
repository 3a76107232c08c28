#include "watched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "links.h"
#include "spec-program.h"
#include "thread.h"
#include "units.h"

/* THREADS_MAX: how many threads are watched for a user, in all watches together, because each watch
 * looks at its threads. Further threads are not watched. */
enum { THREADS_MAX = 1024, PATH_BYTES = 64 };

struct seen {
    pid_t tid;
    bool is_told, is_changed, is_listed;
    char name[THREAD_NAME_BYTES];
    TAILQ_ENTRY(seen) of_changed;
    UT_hash_handle hh;
};

struct watch {
    uint64_t id;
    uid_t uid;
    struct watcher *watcher;
    pid_t process;  /* 0: the program does not run */
    char *program;  /* NULL: one process is watched */
    bool is_execed; /* the process has to be looked at as a whole */
    struct seen *threads;
    TAILQ_HEAD(, seen) changed;
    TAILQ_ENTRY(watch) of_list;
    /* other watches of the same process, such as a user's and root's */
    SLIST_ENTRY(watch) of_process;
    UT_hash_handle hh; /* by id */
};

/* A user with watches. */
struct watcher {
    uid_t uid;
    int watches, threads;
    UT_hash_handle hh;
};

struct process {
    pid_t pid;
    SLIST_HEAD(, watch) watches;
    UT_hash_handle hh;
};

static struct {
    const struct watched_events *tell;
    struct watch *by_id;
    struct process *processes;
    struct watcher *watchers;
    int programs; /* watches of programs that do not run */
    /* ids of processes that have called execve(2) since the last look */
    pid_t execed[256];
    int execed_count;
    bool all_execed; /* look at all processes: `execed` is full, or a program has ended */
} watched;

void watched_begin(const struct watched_events *events)
{
    watched.tell = events;
}

bool watched_any(void)
{
    return watched.by_id != NULL;
}

static void *allocated(size_t size)
{
    void *const zeros = calloc(1, size);
    if (zeros == NULL)
        abort(); /* the broker starts this program again, and tells it all watches */
    return zeros;
}

/* ---- threads ---- */

static void forget(struct watch *watch, struct seen *seen)
{
    if (seen->is_changed)
        TAILQ_REMOVE(&watch->changed, seen, of_changed);
    HASH_DEL(watch->threads, seen);
    watch->watcher->threads--;
    if (seen->is_told)
        watched.tell->gone(watch->id, seen->tid);
    free(seen);
}

static struct seen *find(struct watch *watch, pid_t tid)
{
    struct seen *seen;
    HASH_FIND_INT(watch->threads, &tid, seen);
    return seen;
}

static void mark_changed(struct watch *watch, pid_t tid)
{
    struct seen *seen = find(watch, tid);
    if (seen == NULL && watch->watcher->threads >= THREADS_MAX)
        return;
    if (seen == NULL) {
        seen = allocated(sizeof *seen);
        seen->tid = tid;
        HASH_ADD_INT(watch->threads, tid, seen);
        watch->watcher->threads++;
    }
    if (!seen->is_changed)
        TAILQ_INSERT_TAIL(&watch->changed, seen, of_changed);
    seen->is_changed = true;
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

/* A name that is empty matches no rule, and is told as "?". */
static void look_at(struct watch *watch, struct seen *seen)
{
    char name[THREAD_NAME_BYTES];
    seen->is_changed = false;
    TAILQ_REMOVE(&watch->changed, seen, of_changed);
    if (!read_name(watch->process, seen->tid, name)) {
        forget(watch, seen);
        return;
    }
    if (seen->is_told && strcmp(name, seen->name) == 0)
        return;
    memcpy(seen->name, name, sizeof name);
    seen->is_told = true;
    watched.tell->thread(watch->id, seen->tid, name[0] == '\0' ? "?" : name);
}

static void look_at_changed(struct watch *watch)
{
    struct seen *seen;
    while ((seen = TAILQ_FIRST(&watch->changed)) != NULL)
        look_at(watch, seen);
}

/* An exiting thread is not added: the kernel has written the thread's last record already, so its
 * end would go unnoticed. */
static bool is_exiting(pid_t tid)
{
    struct identity identity;
    return !thread_look(tid, &identity) || identity.ended;
}

/* False: the user has THREADS_MAX watched threads already, and this thread is not one of them. */
static bool has_room_for(struct watch *watch, pid_t tid)
{
    return watch->watcher->threads < THREADS_MAX || find(watch, tid) != NULL;
}

/* Compares all threads in /proc with the known threads. */
static void list_threads(struct watch *watch)
{
    char path[PATH_BYTES];
    const struct dirent *entry;
    struct seen *seen, *next;
    uint64_t tid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)watch->process);
    DIR *listing = opendir(path);
    while (listing != NULL && (entry = readdir(listing)) != NULL)
        if (parse_number(entry->d_name, INT32_MAX, &tid) && has_room_for(watch, (pid_t)tid) &&
            !is_exiting((pid_t)tid)) {
            mark_changed(watch, (pid_t)tid);
            seen = find(watch, (pid_t)tid);
            if (seen != NULL)
                seen->is_listed = true;
        }
    if (listing != NULL)
        closedir(listing);
    HASH_ITER (hh, watch->threads, seen, next) {
        if (!seen->is_listed)
            forget(watch, seen);
        else
            seen->is_listed = false;
    }
    look_at_changed(watch);
}

/* ---- processes ---- */

static struct process *process_of(pid_t pid)
{
    struct process *process;
    HASH_FIND_INT(watched.processes, &pid, process);
    return process;
}

static void leave_process(struct watch *watch)
{
    struct process *process = process_of(watch->process);
    struct seen *seen, *next;
    if (process == NULL)
        return;
    HASH_ITER (hh, watch->threads, seen, next) {
        seen->is_told = false; /* ended() tells the end of all threads */
        forget(watch, seen);
    }
    SLIST_REMOVE(&process->watches, watch, watch, of_process);
    watch->process = 0;
    watched.programs += watch->program != NULL;
    if (!SLIST_EMPTY(&process->watches))
        return;
    HASH_DEL(watched.processes, process);
    free(process);
}

static void enter_process(struct watch *watch, pid_t pid, int64_t started)
{
    struct process *process = process_of(pid);
    if (process == NULL) {
        process = allocated(sizeof *process);
        process->pid = pid;
        HASH_ADD_INT(watched.processes, pid, process);
    }
    SLIST_INSERT_HEAD(&process->watches, watch, of_process);
    watch->process = pid;
    watch->is_execed = false;
    watched.programs -= watch->program != NULL;
    watched.tell->process(watch->id, pid, started);
    list_threads(watch);
    watched.tell->listed(watch->id);
}

/* NULL: this user may watch the process; else the reason. */
static const char *not_to_be_watched(pid_t pid, uid_t uid, int64_t *started)
{
    struct identity identity;
    if (!thread_identify(pid, &identity) || identity.process != pid || identity.kernel ||
        identity.ended)
        return "there is no such process";
    *started = thread_started(&identity);
    return thread_is_of(&identity, uid) ? NULL : "the process is not yours";
}

/* A directory in /proc belongs to the user and group of the process. */
static bool look_at_owner(pid_t pid, struct stat *status)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, status) == 0;
}

static bool read_exe(pid_t pid, const struct stat *status, char exe[static PROGRAM_PATH_BYTES])
{
    const size_t length =
        links_program_of(pid, status->st_uid, status->st_gid, exe, PROGRAM_PATH_BYTES);
    if (length == 0 || length >= PROGRAM_PATH_BYTES)
        return false;
    exe[length] = '\0';
    return true;
}

static bool runs_program(pid_t pid, uid_t uid, const char *program)
{
    char exe[PROGRAM_PATH_BYTES];
    struct stat status;
    return look_at_owner(pid, &status) && status.st_uid == uid && read_exe(pid, &status, exe) &&
           strcmp(exe, program) == 0;
}

static bool is_idle(const struct watch *watch)
{
    return watch->program != NULL && watch->process == 0;
}

static bool any_is_idle_of(uid_t uid)
{
    const struct watch *watch = watched.by_id;
    while (watch != NULL && !(is_idle(watch) && watch->uid == uid))
        watch = watch->hh.next;
    return watch != NULL;
}

/* Gives the process to all watches that wait for it. The process is looked at once, however many
 * watches there are: each user can make watches, and start processes without end. Nothing is told
 * of another user's process. */
static void try_process(pid_t pid)
{
    char exe[PROGRAM_PATH_BYTES];
    struct stat status;
    int64_t started;
    if (!look_at_owner(pid, &status) || !any_is_idle_of(status.st_uid) ||
        !read_exe(pid, &status, exe))
        return;
    for (struct watch *watch = watched.by_id; watch != NULL; watch = watch->hh.next)
        if (is_idle(watch) && watch->uid == status.st_uid && strcmp(watch->program, exe) == 0 &&
            not_to_be_watched(pid, watch->uid, &started) == NULL)
            enter_process(watch, pid, started);
}

/* Looks for processes that run watched programs already. */
static void find_processes(void)
{
    const struct dirent *entry;
    uint64_t pid;
    DIR *listing = opendir("/proc");
    while (listing != NULL && (entry = readdir(listing)) != NULL)
        if (parse_number(entry->d_name, INT32_MAX, &pid))
            try_process((pid_t)pid);
    if (listing != NULL)
        closedir(listing);
}

/* Ends watching the process. Another process may run the program already, so all processes are
 * looked at. */
static void end_process(struct watch *watch)
{
    leave_process(watch);
    watched.tell->ended(watch->id);
    watched.all_execed |= watch->program != NULL;
}

/* After an execve(2) the process has one thread, perhaps another program, and perhaps other
 * uids. */
static void look_after_exec(struct watch *watch)
{
    int64_t started;
    watch->is_execed = false;
    if (not_to_be_watched(watch->process, watch->uid, &started) != NULL ||
        (watch->program != NULL && !runs_program(watch->process, watch->uid, watch->program)))
        end_process(watch);
    else
        list_threads(watch);
}

/* ---- watches ---- */

static struct watch *watch_find(uint64_t id)
{
    struct watch *watch;
    HASH_FIND(hh, watched.by_id, &id, sizeof id, watch);
    return watch;
}

static struct watcher *watcher_of(uid_t uid)
{
    struct watcher *watcher;
    HASH_FIND(hh, watched.watchers, &uid, sizeof uid, watcher);
    if (watcher == NULL) {
        watcher = allocated(sizeof *watcher);
        watcher->uid = uid;
        HASH_ADD(hh, watched.watchers, uid, sizeof uid, watcher);
    }
    watcher->watches++;
    return watcher;
}

static void leave_watcher(struct watcher *watcher)
{
    if (--watcher->watches > 0)
        return;
    HASH_DEL(watched.watchers, watcher);
    free(watcher);
}

static struct watch *watch_new(uint64_t id, uid_t uid)
{
    watch_end(id);
    struct watch *watch = allocated(sizeof *watch);
    watch->id = id;
    watch->uid = uid;
    watch->watcher = watcher_of(uid);
    TAILQ_INIT(&watch->changed);
    HASH_ADD(hh, watched.by_id, id, sizeof watch->id, watch);
    return watch;
}

const char *watch_process(uint64_t id, uid_t uid, pid_t process)
{
    int64_t started;
    const char *why = not_to_be_watched(process, uid, &started);
    if (why == NULL)
        enter_process(watch_new(id, uid), process, started);
    return why;
}

const char *watch_program(uint64_t id, uid_t uid, const char *program)
{
    struct watch *watch = watch_new(id, uid);
    watch->program = strdup(program);
    if (watch->program == NULL)
        abort();
    watched.programs++;
    find_processes();
    if (watch->process == 0)
        watched.tell->ended(id);
    return NULL;
}

void watch_end(uint64_t id)
{
    struct watch *watch = watch_find(id);
    if (watch == NULL)
        return;
    leave_process(watch);
    watched.programs -= watch->program != NULL;
    HASH_DEL(watched.by_id, watch);
    leave_watcher(watch->watcher);
    free(watch->program);
    free(watch);
}

/* ---- records ---- */

bool watched_wants(const struct task_record *record)
{
    return process_of(record->process) != NULL ||
           (record->what == TASK_EXECED && watched.programs > 0);
}

static void note_exec(pid_t pid)
{
    if (watched.execed_count < (int)(sizeof watched.execed / sizeof *watched.execed))
        watched.execed[watched.execed_count++] = pid;
    else
        watched.all_execed = true;
}

void watched_take(const struct task_record *record)
{
    const struct process *process = process_of(record->process);
    struct watch *watch;
    if (record->what == TASK_EXECED)
        note_exec(record->process);
    if (process == NULL)
        return;
    SLIST_FOREACH (watch, &process->watches, of_process) {
        struct seen *seen = record->what == TASK_ENDED ? find(watch, record->tid) : NULL;
        watch->is_execed |= record->what == TASK_EXECED;
        if (seen != NULL)
            forget(watch, seen);
        else if (record->what != TASK_ENDED)
            mark_changed(watch, record->tid);
    }
}

/* Looks for watched programs in the processes that have called execve(2). */
static void look_for_programs(void)
{
    for (int i = 0; i < watched.execed_count && !watched.all_execed; i++)
        try_process(watched.execed[i]);
    if (watched.all_execed && watched.programs > 0)
        find_processes();
    watched.execed_count = 0;
    watched.all_execed = false;
}

void watched_look(bool lost)
{
    struct watch *watch, *next;
    watched.all_execed |= lost;
    HASH_ITER (hh, watched.by_id, watch, next) {
        if (watch->process != 0 && (watch->is_execed || lost))
            look_after_exec(watch);
        else if (watch->process != 0)
            look_at_changed(watch);
        if (watch->process != 0 && watch->threads == NULL)
            end_process(watch);
    }
    if (watched.execed_count > 0 || watched.all_execed)
        look_for_programs();
}
