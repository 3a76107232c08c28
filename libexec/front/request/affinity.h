/* Remembers the affinity of a thread before the thread is attached, and warns if the grant lets the
 * thread run on other CPUs. rtf-run(1) keeps the affinity of its own thread, because the user has
 * set that affinity by taskset(1). A thread of another program may have set its affinity itself, so
 * the user must decide: --cpus keeps the affinity. */
#ifndef RTF_AFFINITY_H
#define RTF_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct affinity {
    cpu_set_t cpus;
    /* `cpus` has fewer CPUs than the affinity of process 1, and no grant has set it */
    bool is_pinned;
};

/* Returns the thread's affinity. is_pinned is false if there is no such thread. */
struct affinity affinity_of(pid_t thread);

/* Call this after the thread is attached. Says on standard error if a pinned thread may now run on
 * CPUs on which the thread could not run before. */
void affinity_tell(pid_t thread, const struct affinity *before);

#endif
