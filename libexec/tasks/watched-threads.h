/* The threads of one watched process. The kernel's records are only hints: the threads and their
 * names are read in /proc. */
#ifndef RTF_WATCHED_THREADS_H
#define RTF_WATCHED_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uthash.h>

#include "paragraph.h"
#include "program-file.h"

/* Functions that are called with news of the watch `id`. name: cleaned by paragraph_clean. */
struct watched_events {
    /* a process is watched from here on; its threads follow, and then listed(). process 0: a cgroup
     * is watched. If a process appears in the cgroup later, only thread() is called, for its
     * threads. started: CLOCK_REALTIME, ns; 0 for a cgroup */
    void (*process)(uint64_t id, pid_t process, int64_t started);
    /* first: the thread is the first of its process */
    void (*thread)(uint64_t id, pid_t tid, const char *name, bool first);
    void (*gone)(uint64_t id, pid_t tid);
    void (*listed)(uint64_t id);
    /* the process has ended, or is not the user's any more; or the cgroup has no process of the
     * user */
    void (*ended)(uint64_t id);
};

/* The work of one turn. The unit is the time that getdents64(2) takes for one entry, about 1 us.
 * The rest of the work waits for the next turn, so that a user with many threads or many processes
 * does not delay news of other users. */
enum {
    TURN_OF_USER = 400, /* the work for each user's threads */
    TURN_OF_SEARCH = 400,
    COST_OF_ENTRY = 1,
    COST_OF_FILE = 4,
    COST_OF_EXEC = 20,
    COST_OF_LINK = 15
};

/* A user with watches. */
struct watcher {
    uid_t uid;
    int watches, threads, members; /* in all watches of the user together */
    int left;                      /* what is left of TURN_OF_USER in this turn */
    /* the ids of the watches with which the next turn and this turn begin */
    uint64_t resume, began_at;
    /* the member whose listing goes on in the next turn; NULL: none */
    struct member *listed;
    UT_hash_handle hh;
};

struct watched_thread {
    pid_t tid;
    bool is_told, is_changed;
    char name[THREAD_NAME_BYTES];
    TAILQ_ENTRY(watched_thread) of_changed;
    UT_hash_handle hh;
};

/* A process of a watch. Several watches may have the same process, such as a user's and root's. */
struct member {
    pid_t process;
    struct watch *watch;
    uint64_t id; /* the id of the watch */
    struct watcher *watcher;
    bool is_execed;  /* look at the whole process, because it may have called execve(2) */
    bool is_to_list; /* all threads have to be listed */
    bool has_listed; /* a listing has ended */
    bool has_others; /* the process has threads that are not watched, for lack of room */
    /* the listing of the threads; used only while the watcher's `listed` is this member */
    DIR *listing;
    struct watched_thread *threads;
    TAILQ_HEAD(, watched_thread) changed; /* new threads first */
    TAILQ_ENTRY(member) of_watch;
    SLIST_ENTRY(member) of_process;
};

/* Memory of zeros. */
void *watched_allocate(size_t size);

/* From now on these functions are called with news. */
void threads_begin(const struct watched_events *events);

/* Compares threads in /proc with the known threads, if they are to be listed, and looks at the
 * threads that have changed, until the watcher's turn is over. */
void threads_look(struct member *member);

/* True: no part of this work waits for the next turn. */
bool threads_are_done(const struct member *member);

/* True: all threads that the process had when it was first listed have been told. */
bool threads_are_complete(const struct member *member);

/* True: there is room for a thread of another process. */
bool threads_have_room(const struct watcher *watcher);

/* Notes that this thread has changed, or has ended. */
void thread_changed(struct member *member, pid_t tid);
void thread_ended(struct member *member, pid_t tid);

/* Forgets all threads, and ends the listing. is_told: tells that they have ended. */
void threads_forget(struct member *member, bool is_told);

#endif
