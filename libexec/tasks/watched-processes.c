#include "watched-processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "links.h"
#include "process-owner.h"
#include "units.h"

/* GROUPS_BYTES: of /proc/PID/cgroup, with a line for each hierarchy. */
enum { PATH_BYTES = 64, GROUPS_BYTES = 16384 };

/* The things that a watch can be of. */
enum what { ONE_PROCESS, ONE_PROGRAM, ONE_GROUP };

struct watch {
    uint64_t id;
    uid_t uid;
    enum what what;
    char *path; /* of the program, or of the cgroup; NULL: one process is watched */
    struct watcher *watcher;
    SLIST_HEAD(, member) members; /* at most one process, except for a cgroup */
    bool is_beginning;            /* the processes that run already are being looked for */
    UT_hash_handle hh;            /* by id */
};

struct process {
    pid_t pid;
    SLIST_HEAD(, member) members;
    UT_hash_handle hh;
};

static struct {
    const struct watched_events *tell;
    struct watch *by_id;
    struct process *processes;
    struct watcher *watchers;
    /* ids of processes that have called execve(2), or that a watched process of a cgroup has made,
     * since the last look */
    pid_t fresh[256];
    int fresh_count;
    bool all_fresh; /* look at all processes: `fresh` is full, or a program has ended */
} watched;

void watched_begin(const struct watched_events *events)
{
    watched.tell = events;
    threads_begin(events);
}

bool watched_any(void)
{
    return watched.by_id != NULL;
}

/* ---- processes of a watch ---- */

static struct process *process_of(pid_t pid)
{
    struct process *process;
    HASH_FIND_INT(watched.processes, &pid, process);
    return process;
}

static struct process *process_make(pid_t pid)
{
    struct process *process = process_of(pid);
    if (process == NULL) {
        process = watched_allocate(sizeof *process);
        process->pid = pid;
        HASH_ADD_INT(watched.processes, pid, process);
    }
    return process;
}

static struct member *member_of(const struct watch *watch, pid_t pid)
{
    struct member *member = SLIST_FIRST(&watch->members);
    while (member != NULL && member->process != pid)
        member = SLIST_NEXT(member, of_watch);
    return member;
}

static void member_enter(struct watch *watch, pid_t pid, int64_t started)
{
    const bool is_first = SLIST_EMPTY(&watch->members) && !watch->is_beginning;
    struct process *process = process_make(pid);
    struct member *member = watched_allocate(sizeof *member);
    member->process = pid;
    member->watch = watch;
    member->id = watch->id;
    member->watcher = watch->watcher;
    TAILQ_INIT(&member->changed);
    SLIST_INSERT_HEAD(&process->members, member, of_process);
    SLIST_INSERT_HEAD(&watch->members, member, of_watch);
    if (is_first && watch->what == ONE_GROUP)
        watched.tell->process(watch->id, 0, 0);
    else if (is_first)
        watched.tell->process(watch->id, pid, started);
    threads_list(member);
    if (is_first)
        watched.tell->listed(watch->id);
}

static void member_free(struct member *member, bool tells_threads)
{
    struct process *process = process_of(member->process);
    threads_forget(member, tells_threads);
    SLIST_REMOVE(&process->members, member, member, of_process);
    SLIST_REMOVE(&member->watch->members, member, member, of_watch);
    free(member);
    if (!SLIST_EMPTY(&process->members))
        return;
    HASH_DEL(watched.processes, process);
    free(process);
}

/* Ends watching the process. After the last process of a watch, ended() stands for the end of all
 * its threads. For a watch of a program, another process may run the program already, so the next
 * look is at all processes. */
static void member_leave(struct member *member)
{
    struct watch *watch = member->watch;
    member_free(member, watch->what == ONE_GROUP);
    if (SLIST_EMPTY(&watch->members) && !watch->is_beginning)
        watched.tell->ended(watch->id);
    watched.all_fresh |= watch->what == ONE_PROGRAM;
}

/* ---- which processes ---- */

/* The owner, program and cgroups of a process. Each is read at most once, however many watches there
 * are, because each user can make watches, and start processes without end. */
struct looked_at {
    pid_t pid;
    struct stat status;
    bool has_exe, has_groups;
    char exe[PROGRAM_PATH_BYTES]; /* "": the user does not see it */
    char groups[GROUPS_BYTES];
};

static const char *exe_of(struct looked_at *process)
{
    if (process->has_exe)
        return process->exe;
    const size_t length =
        links_program_of(process->pid, process->status.st_uid, process->status.st_gid, process->exe,
                         PROGRAM_PATH_BYTES);
    process->exe[length < PROGRAM_PATH_BYTES ? length : 0] = '\0';
    process->has_exe = true;
    return process->exe;
}

static const char *groups_of(struct looked_at *process)
{
    char path[PATH_BYTES];
    size_t length = 0;
    ssize_t got = 1;
    if (process->has_groups)
        return process->groups;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)process->pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && got > 0 && length < GROUPS_BYTES - 1) {
        got = read(fd, process->groups + length, GROUPS_BYTES - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    process->groups[length] = '\0';
    process->has_groups = true;
    return process->groups;
}

/* True: the process is in the cgroup, or in a cgroup below it. A line is "3:cpuset:/path", or
 * "0::/path" in version 2. */
static bool is_in_group(struct looked_at *process, const char *group)
{
    const size_t length = strlen(group);
    for (const char *line = groups_of(process), *end; *line != '\0'; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        const char *path = memchr(line, ':', (size_t)(end - line));
        path = path == NULL ? NULL : memchr(path + 1, ':', (size_t)(end - path - 1));
        if (path != NULL && (size_t)(end - ++path) >= length && memcmp(path, group, length) == 0 &&
            (path + length == end || path[length] == '/'))
            return true;
    }
    return false;
}

/* True: the watch is about this process, whether it is a member already or not. */
static bool is_meant(const struct watch *watch, struct looked_at *process)
{
    if (watch->uid != process->status.st_uid)
        return false;
    return watch->what == ONE_GROUP ? is_in_group(process, watch->path)
                                    : strcmp(exe_of(process), watch->path) == 0;
}

static bool is_still_meant(const struct watch *watch, pid_t pid)
{
    struct looked_at process = {.pid = pid};
    return watch->what == ONE_PROCESS ||
           (look_at_owner(pid, &process.status) && is_meant(watch, &process));
}

static bool awaits_processes(const struct watch *watch)
{
    return watch->what == ONE_GROUP || (watch->what == ONE_PROGRAM && SLIST_EMPTY(&watch->members));
}

static bool any_awaits(uid_t uid)
{
    const struct watch *watch = watched.by_id;
    while (watch != NULL && !(awaits_processes(watch) && watch->uid == uid))
        watch = watch->hh.next;
    return watch != NULL;
}

/* Gives the process to all watches that wait for it. Nothing is told of another user's process. */
static void try_process(pid_t pid)
{
    struct looked_at process = {.pid = pid};
    int64_t started;
    if (!look_at_owner(pid, &process.status) || !any_awaits(process.status.st_uid))
        return;
    for (struct watch *watch = watched.by_id; watch != NULL; watch = watch->hh.next)
        if (awaits_processes(watch) && member_of(watch, pid) == NULL && is_meant(watch, &process) &&
            not_to_be_watched(pid, watch->uid, &started) == NULL)
            member_enter(watch, pid, started);
}

/* Looks for processes that run already. */
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
        watcher = watched_allocate(sizeof *watcher);
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

static struct watch *watch_new(uint64_t id, uid_t uid, enum what what, const char *path)
{
    watch_end(id);
    struct watch *watch = watched_allocate(sizeof *watch);
    watch->id = id;
    watch->uid = uid;
    watch->what = what;
    watch->path = path == NULL ? NULL : strdup(path);
    if (path != NULL && watch->path == NULL)
        abort();
    watch->watcher = watcher_of(uid);
    SLIST_INIT(&watch->members);
    HASH_ADD(hh, watched.by_id, id, sizeof watch->id, watch);
    return watch;
}

const char *watch_process(uint64_t id, uid_t uid, pid_t process)
{
    int64_t started;
    const char *why = not_to_be_watched(process, uid, &started);
    if (why == NULL)
        member_enter(watch_new(id, uid, ONE_PROCESS, NULL), process, started);
    return why;
}

const char *watch_program(uint64_t id, uid_t uid, const char *program)
{
    const struct watch *watch = watch_new(id, uid, ONE_PROGRAM, program);
    find_processes();
    if (SLIST_EMPTY(&watch->members))
        watched.tell->ended(id);
    return NULL;
}

/* Begins to watch a cgroup. The threads of all processes are told before listed(), so that the
 * reader asks for one reservation for all of them together. */
const char *watch_group(uint64_t id, uid_t uid, const char *group)
{
    struct watch *watch = watch_new(id, uid, ONE_GROUP, group);
    watch->is_beginning = true;
    watched.tell->process(id, 0, 0);
    find_processes();
    watch->is_beginning = false;
    if (SLIST_EMPTY(&watch->members))
        watched.tell->ended(id);
    else
        watched.tell->listed(id);
    return NULL;
}

void watch_end(uint64_t id)
{
    struct watch *watch = watch_find(id);
    if (watch == NULL)
        return;
    while (!SLIST_EMPTY(&watch->members))
        member_free(SLIST_FIRST(&watch->members), false);
    HASH_DEL(watched.by_id, watch);
    leave_watcher(watch->watcher);
    free(watch->path);
    free(watch);
}

/* ---- records ---- */

static bool any_awaits_processes(void)
{
    const struct watch *watch = watched.by_id;
    while (watch != NULL && !awaits_processes(watch))
        watch = watch->hh.next;
    return watch != NULL;
}

/* True: a process of a watched cgroup has made this process, which is in the same cgroup. */
static bool is_made_in_group(const struct task_record *record)
{
    const struct member *member;
    const struct process *parent = record->what == TASK_FORKED && record->parent != record->process
                                       ? process_of(record->parent)
                                       : NULL;
    if (parent != NULL)
        SLIST_FOREACH (member, &parent->members, of_process)
            if (member->watch->what == ONE_GROUP)
                return true;
    return false;
}

bool watched_wants(const struct task_record *record)
{
    return process_of(record->process) != NULL || is_made_in_group(record) ||
           (record->what == TASK_EXECED && any_awaits_processes());
}

static void note_fresh(pid_t pid)
{
    if (watched.fresh_count < (int)(sizeof watched.fresh / sizeof *watched.fresh))
        watched.fresh[watched.fresh_count++] = pid;
    else
        watched.all_fresh = true;
}

void watched_take(const struct task_record *record)
{
    const struct process *process = process_of(record->process);
    struct member *member;
    if (record->what == TASK_EXECED || is_made_in_group(record))
        note_fresh(record->process);
    if (process == NULL)
        return;
    SLIST_FOREACH (member, &process->members, of_process) {
        member->is_execed |= record->what == TASK_EXECED;
        if (record->what == TASK_ENDED)
            thread_ended(member, record->tid);
        else
            thread_changed(member, record->tid);
    }
}

/* Looks whether processes that are fresh are to be watched. */
static void look_at_fresh(void)
{
    for (int i = 0; i < watched.fresh_count && !watched.all_fresh; i++)
        try_process(watched.fresh[i]);
    if (watched.all_fresh && any_awaits_processes())
        find_processes();
    watched.fresh_count = 0;
    watched.all_fresh = false;
}

/* Looks at the process, if `is_whole` or after an execve(2) at all of it. After an execve(2) the
 * process has one thread, perhaps another program or cgroup, and perhaps other uids. May free the
 * member. */
static void look_at_member(struct member *member, bool is_whole)
{
    int64_t started;
    if (!is_whole && !member->is_execed)
        threads_look_at_changed(member);
    else if (not_to_be_watched(member->process, member->watch->uid, &started) == NULL &&
             is_still_meant(member->watch, member->process))
        threads_list(member);
    else {
        member_leave(member);
        return;
    }
    member->is_execed = false;
    if (member->threads == NULL)
        member_leave(member);
}

void watched_look(bool lost)
{
    struct watch *watch, *next_watch;
    struct member *member, *next;
    watched.all_fresh |= lost;
    HASH_ITER (hh, watched.by_id, watch, next_watch)
        for (member = SLIST_FIRST(&watch->members); member != NULL; member = next) {
            next = SLIST_NEXT(member, of_watch);
            look_at_member(member, lost);
        }
    if (watched.fresh_count > 0 || watched.all_fresh)
        look_at_fresh();
}
