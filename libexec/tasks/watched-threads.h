/* The threads of one watched process. The kernel's records are only hints: the threads and their
 * names are read in /proc. */
#ifndef RTF_WATCHED_THREADS_H
#define RTF_WATCHED_THREADS_H

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

/* A user with watches. */
struct watcher {
    uid_t uid;
    int watches, threads; /* of all watches together */
    UT_hash_handle hh;
};

struct watched_thread {
    pid_t tid;
    bool is_told, is_changed, is_listed;
    char name[THREAD_NAME_BYTES];
    TAILQ_ENTRY(watched_thread) of_changed;
    UT_hash_handle hh;
};

/* A process of a watch. Several watches may have the same process, such as a user's and root's. */
struct member {
    pid_t process;
    struct watch *watch;
    uint64_t id; /* of the watch */
    struct watcher *watcher;
    bool is_execed; /* the process has to be looked at as a whole */
    struct watched_thread *threads;
    TAILQ_HEAD(, watched_thread) changed;
    SLIST_ENTRY(member) of_watch, of_process;
};

/* Memory of zeros. */
void *watched_allocate(size_t size);

/* From now on these functions are called with news. */
void threads_begin(const struct watched_events *events);

/* Compares all threads in /proc with the known threads, and tells what is new. */
void threads_list(struct member *member);

/* Notes that this thread has changed, or has ended. */
void thread_changed(struct member *member, pid_t tid);
void thread_ended(struct member *member, pid_t tid);

/* Looks at the threads that have changed. */
void threads_look_at_changed(struct member *member);

/* Forgets all threads. is_told: tells that they have ended. */
void threads_forget(struct member *member, bool is_told);

#endif
