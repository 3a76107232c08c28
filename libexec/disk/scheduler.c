#include "scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "name.h"

enum { PATH_BYTES = 128, VALUE_BYTES = 128 };

static int open_setting(const char *disk, const char *name, int flags)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/sys/block/%.31s/%s", disk, name);
    return open(path, flags | O_CLOEXEC);
}

static bool get(const char *disk, const char *name, char value[static VALUE_BYTES])
{
    const int fd = open_setting(disk, name, O_RDONLY);
    const ssize_t got = fd < 0 ? -1 : read(fd, value, VALUE_BYTES - 1);
    if (fd >= 0)
        close(fd);
    value[got < 0 ? 0 : got] = '\0';
    value[strcspn(value, "\n")] = '\0';
    return got > 0;
}

static bool set(const char *disk, const char *name, const char *value, char *reason)
{
    const int fd = open_setting(disk, name, O_WRONLY);
    const bool good = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    if (!good)
        snprintf(reason, SCHEDULER_REASON, "disk %s: %s=%s: %s", disk, name, value,
                 strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

bool scheduler_number(const char *disk, char number[static DISK_NUMBER])
{
    char value[VALUE_BYTES];
    if (!name_is_valid(disk, strlen(disk), DISK_NAME_BYTES - 1) || !get(disk, "dev", value) ||
        strlen(value) >= DISK_NUMBER)
        return false;
    snprintf(number, DISK_NUMBER, "%.23s", value);
    return true;
}

static bool look(const char *disk, char value[static VALUE_BYTES], char *reason)
{
    const bool good = get(disk, "queue/scheduler", value);
    if (!good)
        snprintf(reason, SCHEDULER_REASON, "there is no disk %s", disk);
    return good;
}

bool scheduler_look(const char *disk, char reason[static SCHEDULER_REASON])
{
    char value[VALUE_BYTES];
    return look(disk, value, reason);
}

bool scheduler_begin(const char *disk, char reason[static SCHEDULER_REASON])
{
    char value[VALUE_BYTES];
    if (!look(disk, value, reason))
        return false;
    /* Writes "bfq" only if another scheduler is in force, because writing it again would reset the
     * weights. */
    if (strstr(value, "[bfq]") == NULL && !set(disk, "queue/scheduler", "bfq", reason))
        return false;
    return set(disk, "queue/iosched/low_latency", "0", reason) &&
           set(disk, "queue/iosched/strict_guarantees", "1", reason);
}

bool scheduler_end(const char *former, char reason[static SCHEDULER_REASON])
{
    char text[VALUE_BYTES], value[VALUE_BYTES], *rest = text;
    snprintf(text, sizeof text, "%s", former);
    const char *disk = strsep(&rest, "="), *scheduler = strsep(&rest, ","),
               *low = strsep(&rest, ","), *strict = rest;
    if (scheduler == NULL || !name_is_valid(disk, strlen(disk), DISK_NAME_BYTES - 1) ||
        !get(disk, "queue/scheduler", value))
        return true;
    if (strcmp(scheduler, "bfq") != 0)
        return set(disk, "queue/scheduler", scheduler, reason);
    return low == NULL || strict == NULL ||
           (set(disk, "queue/iosched/low_latency", low, reason) &&
            set(disk, "queue/iosched/strict_guarantees", strict, reason));
}
