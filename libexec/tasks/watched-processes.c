#include "watched-processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "links.h"
#include "process-owner.h"
#include "thread.h"
#include "units.h"

/* GROUPS_BYTES: the most that is read of /proc/PID/cgroup, which has a line for each hierarchy.
 * MEMBERS_MAX: the most processes of a user in all watches together. Further processes of a cgroup
 * are not watched, because each turn goes through all processes. */
enum { PATH_BYTES = 64, GROUPS_BYTES = 16384, MEMBERS_MAX = 1024 };

/* The kinds of watches. */
enum what { ONE_PROCESS, ONE_PROGRAM, ONE_GROUP };

/* Whether the processes of a new watch are to be searched in /proc: no; in the next search; in the
 * search that goes on now. */
enum sought { SOUGHT_NOT, SOUGHT_NEXT, SOUGHT_NOW };

struct watch {
    uint64_t id;
    uid_t uid;
    enum what what;
    char *path; /* the path of the program or cgroup; NULL: one process is watched */
    struct watcher *watcher;
    TAILQ_HEAD(members, member) members; /* at most one process, except for a cgroup */
    bool is_begun;                       /* process() was told, and ended() was not told since */
    bool is_listed;                      /* listed() was told since process() */
    enum sought sought;
    UT_hash_handle hh; /* by id */
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
    /* ids of processes to look at: each of them has called execve(2), or was forked by a watched
     * process of a cgroup */
    pid_t fresh[256];
    int fresh_count;
    bool all_fresh; /* look at all processes: `fresh` is full, or a program has ended */
    DIR *search;    /* the search in /proc that goes on in the next turn; NULL: none */
    bool has_more;  /* a part of the work waits for the next turn */
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

bool watched_has_more(void)
{
    return watched.has_more;
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

/* Finds the member in the list of its process, which is shorter than the list of a watch: a process
 * has fewer watches than a cgroup has processes. */
static struct member *member_of(const struct watch *watch, pid_t pid)
{
    const struct process *process = process_of(pid);
    struct member *member = process == NULL ? NULL : SLIST_FIRST(&process->members);
    while (member != NULL && member->watch != watch)
        member = SLIST_NEXT(member, of_process);
    return member;
}

static void begin(struct watch *watch, pid_t pid, int64_t started)
{
    watch->is_begun = true;
    watch->is_listed = false;
    watched.tell->process(watch->id, pid, started);
}

static void end(struct watch *watch)
{
    watch->is_begun = false;
    watched.tell->ended(watch->id);
}

/* Watches the process. Its threads are listed in this turn or in the next ones. */
static void member_enter(struct watch *watch, pid_t pid, int64_t started)
{
    struct process *process = process_make(pid);
    struct member *member = watched_allocate(sizeof *member);
    member->process = pid;
    member->watch = watch;
    member->id = watch->id;
    member->watcher = watch->watcher;
    member->watcher->members++;
    member->is_to_list = true;
    TAILQ_INIT(&member->changed);
    SLIST_INSERT_HEAD(&process->members, member, of_process);
    TAILQ_INSERT_TAIL(&watch->members, member, of_watch);
    if (watch->what != ONE_GROUP)
        watch->sought = SOUGHT_NOT;
    if (!watch->is_begun && watch->what == ONE_GROUP)
        begin(watch, 0, 0);
    else if (!watch->is_begun)
        begin(watch, pid, started);
}

static void member_free(struct member *member, bool tells_threads)
{
    struct process *process = process_of(member->process);
    threads_forget(member, tells_threads);
    SLIST_REMOVE(&process->members, member, member, of_process);
    TAILQ_REMOVE(&member->watch->members, member, of_watch);
    member->watcher->members--;
    free(member);
    if (!SLIST_EMPTY(&process->members))
        return;
    HASH_DEL(watched.processes, process);
    free(process);
}

/* Ends watching the process. When the last process of a watch leaves, ended() also tells the end of
 * all its threads. If the watch is of a program, another process may run this program already, so
 * all processes are looked at next. */
static void member_leave(struct member *member)
{
    struct watch *watch = member->watch;
    member_free(member, watch->what == ONE_GROUP);
    if (TAILQ_EMPTY(&watch->members) && watch->sought == SOUGHT_NOT)
        end(watch);
    watched.all_fresh |= watch->what == ONE_PROGRAM;
}

/* ---- which processes ---- */

/* The owner, program and cgroups of a process. Each is read at most once, however many watches there
 * are, because each user can make watches, and start processes without end. */
struct looked_at {
    pid_t pid;
    struct stat status;
    bool has_exe, has_groups;
    char exe[PROGRAM_PATH_BYTES]; /* "": the user does not see the link */
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
    return watch->what == ONE_GROUP || (watch->what == ONE_PROGRAM && TAILQ_EMPTY(&watch->members));
}

static bool any_awaits(uid_t uid)
{
    const struct watch *watch = watched.by_id;
    while (watch != NULL && !(awaits_processes(watch) && watch->uid == uid))
        watch = watch->hh.next;
    return watch != NULL;
}

/* False: the user has no room for another process of a cgroup. */
static bool has_room(const struct watch *watch)
{
    return watch->what != ONE_GROUP ||
           (watch->watcher->members < MEMBERS_MAX && threads_have_room(watch->watcher));
}

/* Makes the process a member of all watches that wait for such a process. A watch of another user
 * learns nothing of the process. Returns the cost of this look. */
static int try_process(pid_t pid)
{
    struct looked_at process = {.pid = pid};
    int64_t started;
    if (!look_at_owner(pid, &process.status) || !any_awaits(process.status.st_uid))
        return COST_OF_FILE;
    for (struct watch *watch = watched.by_id; watch != NULL; watch = watch->hh.next)
        if (awaits_processes(watch) && has_room(watch) && member_of(watch, pid) == NULL &&
            is_meant(watch, &process) && not_to_be_watched(pid, watch->uid, &started) == NULL)
            member_enter(watch, pid, started);
    return COST_OF_FILE + (process.has_exe ? COST_OF_LINK : 0) +
           (process.has_groups ? COST_OF_FILE : 0);
}

static void begin_search(void)
{
    watched.all_fresh = false;
    watched.fresh_count = 0;
    watched.search = opendir("/proc");
    for (struct watch *watch = watched.by_id; watch != NULL; watch = watch->hh.next)
        if (watch->sought == SOUGHT_NEXT)
            watch->sought = SOUGHT_NOW;
}

static void end_search(void)
{
    if (watched.search != NULL)
        closedir(watched.search);
    watched.search = NULL;
    for (struct watch *watch = watched.by_id; watch != NULL; watch = watch->hh.next)
        if (watch->sought == SOUGHT_NOW) {
            watch->sought = SOUGHT_NOT;
            if (TAILQ_EMPTY(&watch->members))
                end(watch);
        }
}

/* Looks for processes that run already, until the turn is over. */
static void search_some(void)
{
    const struct dirent *entry = NULL;
    uint64_t pid;
    if (watched.search == NULL)
        begin_search();
    for (int left = TURN_OF_SEARCH; watched.search != NULL && left > 0; left -= COST_OF_ENTRY) {
        entry = readdir(watched.search);
        if (entry == NULL)
            break;
        if (parse_number(entry->d_name, INT32_MAX, &pid))
            left -= try_process((pid_t)pid);
    }
    if (entry == NULL)
        end_search();
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
    TAILQ_INIT(&watch->members);
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

static void seek(struct watch *watch)
{
    watch->sought = SOUGHT_NEXT;
    watched.all_fresh = true;
}

const char *watch_program(uint64_t id, uid_t uid, const char *program)
{
    seek(watch_new(id, uid, ONE_PROGRAM, program));
    return NULL;
}

/* Begins to watch a cgroup. The threads of all processes are told before listed(), so that the
 * reader asks for one reservation for all of them together. */
const char *watch_group(uint64_t id, uid_t uid, const char *group)
{
    struct watch *watch = watch_new(id, uid, ONE_GROUP, group);
    begin(watch, 0, 0);
    seek(watch);
    return NULL;
}

void watch_end(uint64_t id)
{
    struct watch *watch = watch_find(id);
    if (watch == NULL)
        return;
    for (struct member *member = TAILQ_FIRST(&watch->members), *next; member != NULL;
         member = next) {
        next = TAILQ_NEXT(member, of_watch);
        member_free(member, false);
    }
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

static bool is_fresh(pid_t pid)
{
    for (int i = 0; i < watched.fresh_count; i++)
        if (watched.fresh[i] == pid)
            return true;
    return false;
}

/* True: a process of a watched cgroup has made this process, which is in the same cgroup. This may
 * also be true if the parent has just called execve(2), and has not been looked at yet. */
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
    return record->what == TASK_FORKED && record->parent != record->process &&
           is_fresh(record->parent);
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

/* Decides whether the processes in `fresh` are to be watched, until the turn is over. A search that
 * goes on may have passed these processes already. */
static void look_at_fresh(void)
{
    int done = 0;
    if (!any_awaits_processes()) {
        end_search();
        watched.all_fresh = false;
        watched.fresh_count = 0;
    }
    for (int left = TURN_OF_SEARCH; left > 0 && done < watched.fresh_count; done++)
        left -= try_process(watched.fresh[done]);
    watched.fresh_count -= done;
    memmove(watched.fresh, watched.fresh + done,
            (size_t)watched.fresh_count * sizeof *watched.fresh);
    if (watched.all_fresh || watched.search != NULL)
        search_some();
}

/* Looks at the process after an execve(2). The process then has one thread, perhaps another program
 * or cgroup, and perhaps other uids. */
static bool is_still_watched(struct member *member)
{
    struct identity identity;
    const pid_t pid = member->process;
    member->is_execed = false;
    member->is_to_list = true;
    member->watcher->left -= COST_OF_EXEC;
    return thread_look_within(pid, pid, &identity) && !identity.ended &&
           thread_owner(-1, pid, &identity) && thread_is_of(&identity, member->watch->uid) &&
           is_still_meant(member->watch, pid);
}

/* Looks at the process and its threads. May free the member. */
static void look_at_member(struct member *member)
{
    bool stays = !member->is_execed || is_still_watched(member);
    if (stays) {
        threads_look(member);
        watched.has_more |= !threads_are_done(member);
        stays = member->threads != NULL || member->has_others || !threads_are_done(member);
    }
    if (!stays)
        member_leave(member);
}

static bool is_complete(const struct watch *watch)
{
    const struct member *member;
    TAILQ_FOREACH (member, &watch->members, of_watch)
        if (!threads_are_complete(member))
            return false;
    return watch->is_begun && watch->sought == SOUGHT_NOT;
}

/* Looks at each process once, until the turn is over. The next turn goes on with the process where
 * this turn ends. */
static void look_at_watch(struct watch *watch)
{
    struct watcher *watcher = watch->watcher;
    const struct member *last = TAILQ_LAST(&watch->members, members);
    for (bool is_last = last == NULL; !is_last && watcher->left > 0;) {
        struct member *member = TAILQ_FIRST(&watch->members);
        is_last = member == last;
        TAILQ_REMOVE(&watch->members, member, of_watch);
        TAILQ_INSERT_TAIL(&watch->members, member, of_watch);
        look_at_member(member);
    }
    if (!watch->is_listed && is_complete(watch)) {
        watch->is_listed = true;
        watched.tell->listed(watch->id);
    }
    if (watcher->left <= 0)
        watcher->resume = watch->id + 1;
}

/* The watches of a user take turns, because the work for one watch may fill a whole turn. */
static void look_at_watches(bool is_first_pass)
{
    struct watch *watch, *next;
    HASH_ITER (hh, watched.by_id, watch, next) {
        if (is_first_pass != (watch->id >= watch->watcher->began_at))
            continue;
        if (watch->watcher->left > 0)
            look_at_watch(watch);
        watched.has_more |= watch->watcher->left <= 0;
    }
}

static void begin_turn(bool lost)
{
    struct watch *watch;
    struct member *member;
    for (struct watcher *watcher = watched.watchers; watcher != NULL; watcher = watcher->hh.next) {
        watcher->left = TURN_OF_USER;
        watcher->began_at = watcher->resume;
    }
    for (watch = watched.by_id; lost && watch != NULL; watch = watch->hh.next)
        TAILQ_FOREACH (member, &watch->members, of_watch)
            member->is_execed = true;
    watched.all_fresh |= lost;
    watched.has_more = false;
}

void watched_look(bool lost)
{
    begin_turn(lost);
    look_at_fresh();
    look_at_watches(true);
    look_at_watches(false);
    watched.has_more |= watched.fresh_count > 0 || watched.all_fresh || watched.search != NULL;
}
