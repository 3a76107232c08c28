#include "group-limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"

static const struct kind {
    const char *file, *controller;
    bool has_period; /* true: the file has the form "AMOUNT PERIOD" */
} kinds[] = {{"memory.max", "+memory", false},
             {"memory.high", "+memory", false},
             {"memory.swap.max", "+memory", false},
             {"pids.max", "+pids", false},
             {"cpu.max", "+cpu", true}};
enum { KINDS = sizeof kinds / sizeof *kinds, LINE_BYTES = 64 };

/* A limit of `amount` in each period. period = 1: this kind of limit has no periods. period = 0:
 * there is no limit. */
struct limit {
    uint64_t amount, period;
};

static struct limit lesser(struct limit one, struct limit other)
{
    const bool is_one =
        other.period == 0 || (one.period != 0 && (unsigned __int128)one.amount * other.period <=
                                                     (unsigned __int128)other.amount * one.period);
    return is_one ? one : other;
}

/* Reads a limit of one group. False: errno says why. A group has no such file if the controller is
 * turned off for the group, or if the group is the root. */
static bool read_limit(int root, const char *group, const struct kind *kind, struct limit *limit)
{
    char line[LINE_BYTES];
    *limit = (struct limit){0};
    if (!group_read(root, group, kind->file, line, sizeof line))
        return errno == ENOENT;
    if (strncmp(line, "max", 3) == 0)
        return true;
    limit->period = 1;
    errno = EPROTO;
    return sscanf(line, "%" SCNu64 " %" SCNu64, &limit->amount, &limit->period) ==
               1 + kind->has_period &&
           limit->period != 0;
}

/* Reads the lowest limit of the group and all groups above. */
static bool read_all(int root, const char *from, const struct kind *kind, struct limit *least)
{
    char group[GROUP_BYTES + 1];
    struct limit limit;
    *least = (struct limit){0};
    snprintf(group, sizeof group, ".%s", from);
    for (char *slash; (slash = strrchr(group, '/')) != NULL && slash[1] != '\0'; *slash = '\0') {
        if (!read_limit(root, group, kind, &limit))
            return false;
        *least = lesser(*least, limit);
    }
    return true;
}

/* Writes a limit. Turns the controller on for the groups of rtf when the first of them gets a
 * limit. */
static bool write_limit(int root, const char *parent, const char *group, const struct kind *kind,
                        const struct limit *limit)
{
    char line[LINE_BYTES] = "max";
    if (limit->period != 0 && kind->has_period)
        snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64, limit->amount, limit->period);
    else if (limit->period != 0)
        snprintf(line, sizeof line, "%" PRIu64, limit->amount);
    if (group_write(root, group, kind->file, line))
        return true;
    if (errno != ENOENT)
        return false;
    return limit->period == 0 ||
           (group_write(root, parent, "cgroup.subtree_control", kind->controller) &&
            group_write(root, group, kind->file, line));
}

static bool copy(int root, const char *parent, const char *group, const char *from, bool anew,
                 const struct kind *kind)
{
    struct limit limit, own = {0};
    if (!read_all(root, from, kind, &limit) || (!anew && !read_limit(root, group, kind, &own)))
        return false;
    limit = lesser(limit, own);
    return write_limit(root, parent, group, kind, &limit);
}

bool limits_copy(int root, const char *parent, const char *group, const char *from, bool anew,
                 char reason[static SERVE_REASON])
{
    for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++)
        if (!copy(root, parent, group, from, anew, kind)) {
            snprintf(
                reason, SERVE_REASON,
                "the limit %s of the process's cgroup cannot be copied to the reservation's group: %s",
                kind->file, strerror(errno));
            return false;
        }
    return true;
}
