/* The affinity of a thread before it is attached, and the message that its grant lets it run on
 * other CPUs. rtf-run(1) keeps the affinity of its own thread, because the user has set it by
 * taskset(1). A thread of another program may have set its affinity itself: the user decides about
 * that with --cpus. */
#ifndef RTF_AFFINITY_H
#define RTF_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct affinity {
    cpu_set_t cpus;
    bool is_pinned; /* `cpus` are fewer than those of process 1, and not set by a grant */
};

/* Returns the thread's affinity; not pinned, if there is no such thread. */
struct affinity affinity_of(pid_t thread);

/* Goes after the thread is attached: says if a pinned thread may now run on CPUs on which it could
 * not run before. */
void affinity_tell(pid_t thread, const struct affinity *before);

#endif
