/* What a thread was pinned to before it is attached, and the line that says if its reservation lets it run elsewhere: rtf-run(1) asks for the CPUs that
 * taskset(1) has left it, but of another thread nobody knows why it is pinned. */
#ifndef RTF_AFFINITY_H
#define RTF_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct affinity {
    cpu_set_t cpus;
    bool is_pinned; /* to fewer CPUs than others have, and not by a grant */
};

struct affinity affinity_of(pid_t thread);

/* After the thread was attached. */
void affinity_tell(pid_t thread, const struct affinity *before);

#endif
