#include "capabilities.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool capabilities_keep(const int keep[])
{
    int kept[CAP_LAST_CAP + 1], count = 0;
    if (capng_get_caps_process() != 0)
        return false;
    /* skips a capability that the process does not have; in a container capabilities may be
     * missing */
    for (int i = 0; keep[i] >= 0; i++)
        if (capng_have_capability(CAPNG_PERMITTED, (unsigned)keep[i]))
            kept[count++] = keep[i];
    capng_clear(CAPNG_SELECT_ALL);
    for (int i = 0; i < count; i++)
        if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                         (unsigned)kept[i]) != 0)
            return false;
    return capng_apply(CAPNG_SELECT_ALL) == 0;
}

int capability_for_perf(void)
{
    static const int alone[] = {CAP_PERFMON, -1};
    const struct perf_event_attr nothing = {.type = PERF_TYPE_SOFTWARE,
                                            .size = sizeof nothing,
                                            .config = PERF_COUNT_SW_DUMMY,
                                            .disabled = 1};
    int status;
    pid_t child = fork();
    /* the test opens an event of a CPU, because the kernel needs some ms to make its first event of
     * a task */
    if (child == 0)
        _exit(capabilities_keep(alone) &&
              syscall(SYS_perf_event_open, &nothing, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0 &&
              errno == EACCES);
    bool refused = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                   WEXITSTATUS(status) != 0;
    return refused ? CAP_SYS_ADMIN : CAP_PERFMON;
}

bool capabilities_keep_as(uid_t uid, gid_t gid, const int keep[])
{
    capng_clear(CAPNG_SELECT_ALL);
    for (int i = 0; keep[i] >= 0; i++)
        if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, (unsigned)keep[i]) != 0)
            return false;
    return setgroups(0, NULL) == 0 &&
           capng_change_id((int)uid, (int)gid, CAPNG_CLEAR_BOUNDING) == 0;
}

bool become_unprivileged(uid_t uid, gid_t gid, gid_t other)
{
    capng_clear(CAPNG_SELECT_ALL);
    return setgroups(other != (gid_t)-1, &other) == 0 &&
           capng_change_id((int)uid, (int)gid, CAPNG_CLEAR_BOUNDING) == 0 &&
           capng_apply(CAPNG_SELECT_CAPS) == 0 &&
           setuid(0) != 0; /* checks that the process cannot become root again */
}
