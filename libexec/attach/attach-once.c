#include "attach-once.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "one-shot.h"
#include "units.h"

static bool is_complete(const struct attributes *wanted)
{
    if (wanted->policy == POLICY_DEADLINE)
        return wanted->priority == 0 && wanted->runtime != 0 && wanted->deadline != 0 &&
               wanted->period != 0;
    return (wanted->policy == POLICY_FIFO || wanted->policy == POLICY_RR) && wanted->priority != 0;
}

static int fail(int code, const char *sentence)
{
    fprintf(stderr, "rtf-attach: %s\n", sentence);
    return code;
}

/* Prints the thread's present attributes first, in the form that rtf-detach reads. If they
 * cannot be written, the thread is not attached, because it could not be detached. */
int attach_once(const struct paragraph *words)
{
    struct identity identity;
    struct attributes wanted, former;
    char reason[APPLY_REASON] = "", group[GROUP_BYTES];
    int code = one_shot_thread(words, &identity);
    if (code != EX_OK)
        return code;
    if (!attributes_get(words, "", &wanted) || !is_complete(&wanted))
        return fail(
            EX_USAGE,
            "give cpus=, and policy=fifo or policy=rr with priority=1..99, or policy=deadline with runtime=, deadline= and "
            "period= in us");
    if (!thread_attributes(identity.tid, &former))
        return fail(EX_NOINPUT, strerror(errno));
    if (!one_shot_group(identity.tid, &wanted, group))
        return fail(EX_NOPERM,
                    "the cpuset group of the thread cannot be read, so nothing was done");
    if (!one_shot_print(&identity, &former, group))
        return fail(
            EX_IOERR,
            "the present attributes of the thread could not be printed, so nothing was done");
    wanted.reset_on_fork = true;
    const struct placement placement = {.group = group[0] == '\0' ? NULL : group,
                                        .whole_process = true};
    enum apply_result done;
    do
        done = scheduling_apply(&(struct target){identity.tid, identity.started_by, -1}, 0, &wanted,
                                &placement, reason);
    while (one_shot_wait_pending(done));
    (void)one_shot_close();
    if (done == APPLY_DONE)
        return EX_OK;
    if (done == APPLY_PENDING)
        return fail(
            EX_TEMPFAIL,
            "the thread sleeps, or the kernel binds it to its CPU: call rtf-attach again when the thread runs");
    return done == APPLY_GONE ? fail(EX_NOINPUT, "the thread has ended") : fail(EX_NOPERM, reason);
}

int attach_once_probe(const char *list)
{
    cpu_set_t cpus;
    char reason[APPLY_REASON] = "";
    if (!parse_cpus(list, &cpus))
        return fail(EX_USAGE, "--probe takes a list of CPUs");
    return scheduling_probe(&cpus, reason) == APPLY_DONE ? EX_OK : fail(EX_NOPERM, reason);
}
