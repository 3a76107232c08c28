#include "rt-limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reason.h"

static const char setting_file[] = "/proc/sys/kernel/sched_rt_runtime_us", unlimited[] = "-1";
static int setting = -1;

enum { RECORD_BYTES = 4096, VALUE = 24, MOST = 16, BOOT = 48 };

struct record {
    int fd; /* locked */
    char boot[BOOT], former[VALUE], by[MOST][RECORD_BYTES / MOST];
    int count; /* brokers in `by` */
};

#define fault(why, ...) fault_in(why, RT_LIMIT_REASON, __VA_ARGS__)

bool rt_limit_open(void)
{
    setting = open(setting_file, O_RDWR | O_CLOEXEC);
    return setting >= 0;
}

static bool read_line(int fd, char *line, size_t bytes)
{
    ssize_t got = pread(fd, line, bytes - 1, 0);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return got > 0;
}

static bool set(const char *value, char *reason)
{
    return pwrite(setting, value, strlen(value), 0) >= 0 ||
           fault(reason, "%s cannot be set to %s: %s", setting_file, value, strerror(errno));
}

/* ---- the record ---- */

/* Opens and locks the record. The last broker removes the file, so a locked file without a name
 * is opened again. -1 with errno. */
static int open_locked(int flags)
{
    for (;;) {
        struct stat status;
        int fd = open(RT_LIMIT_RECORD, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
        if (fd < 0)
            return -1;
        const bool locked = flock(fd, LOCK_EX) == 0 && fstat(fd, &status) == 0;
        if (locked && status.st_nlink > 0)
            return fd;
        const int error = errno;
        close(fd);
        errno = error;
        if (!locked)
            return -1;
    }
}

static void take_line(struct record *record, const char *line)
{
    if (strncmp(line, "boot=", 5) == 0)
        snprintf(record->boot, sizeof record->boot, "%s", line + 5);
    else if (strncmp(line, "former=", 7) == 0)
        snprintf(record->former, sizeof record->former, "%s", line + 7);
    else if (strncmp(line, "by=", 3) == 0 && record->count < MOST)
        snprintf(record->by[record->count++], sizeof record->by[0], "%s", line + 3);
}

static void remove_name(struct record *record, int i)
{
    memmove(record->by[i], record->by[i + 1], (size_t)(--record->count - i) * sizeof record->by[0]);
}

static bool is_gone(const char *path)
{
    struct stat status;
    return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Reads the record, without brokers whose spool was removed, and without `except`. A record of
 * an earlier boot counts as empty. */
static void read_record(struct record *record, int fd, const char *except)
{
    char text[RECORD_BYTES + 1], boot[BOOT] = "", *rest = text;
    int boot_fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = pread(fd, text, RECORD_BYTES, 0);
    text[got > 0 ? got : 0] = '\0';
    (void)read_line(boot_fd, boot, sizeof boot);
    close(boot_fd);
    *record = (struct record){.fd = fd};
    for (const char *line; (line = strsep(&rest, "\n")) != NULL;)
        take_line(record, line);
    if (strcmp(record->boot, boot) != 0)
        *record = (struct record){.fd = fd};
    snprintf(record->boot, sizeof record->boot, "%s", boot);
    for (int i = record->count - 1; i >= 0; i--)
        if (strcmp(record->by[i], except) == 0 || is_gone(record->by[i]))
            remove_name(record, i);
}

/* One page, one write: a killed process has written all of it, or nothing. */
static bool write_record(const struct record *record, char *reason)
{
    char text[RECORD_BYTES];
    int length = snprintf(text, sizeof text, "boot=%s\nformer=%s\n", record->boot, record->former);
    for (int i = 0; i < record->count; i++)
        if (length < RECORD_BYTES)
            length +=
                snprintf(text + length, (size_t)(RECORD_BYTES - length), "by=%s\n", record->by[i]);
    if (length >= RECORD_BYTES)
        return fault(reason, "%s has no room for more brokers", RT_LIMIT_RECORD);
    memset(text + length, '\n', (size_t)(RECORD_BYTES - length));
    return pwrite(record->fd, text, sizeof text, 0) == RECORD_BYTES ||
           fault(reason, "%s: %s", RT_LIMIT_RECORD, strerror(errno));
}

/* ---- what brokers ask for ---- */

static bool lift(struct record *record, const char *by, char *reason)
{
    char now[VALUE];
    if (!read_line(setting, now, sizeof now))
        return fault(reason, "%s: %s", setting_file, strerror(errno));
    if (record->count == MOST || strlen(by) >= sizeof record->by[0])
        return fault(reason, "%s has no room for %.200s", RT_LIMIT_RECORD, by);
    /* The brokers of the record are gone, and somebody has restored the setting by hand. */
    if (record->former[0] == '\0' || (record->count == 0 && strcmp(now, unlimited) != 0))
        snprintf(record->former, sizeof record->former, "%s", now);
    snprintf(record->by[record->count++], sizeof record->by[0], "%s", by);
    return write_record(record, reason) && (strcmp(now, unlimited) == 0 || set(unlimited, reason));
}

bool rt_limit_lift(const char *by, char reason[static RT_LIMIT_REASON])
{
    struct record record;
    int fd = open_locked(O_CREAT);
    if (fd < 0)
        return fault(reason, "%s: %s", RT_LIMIT_RECORD, strerror(errno));
    read_record(&record, fd, by);
    const bool good = lift(&record, by, reason);
    close(fd);
    return good;
}

/* Removes the record only after the setting is restored: if the kernel refuses, the caller can
 * try again. */
static bool restore(const struct record *record, char *reason)
{
    if (record->count > 0)
        return write_record(record, reason);
    if (record->former[0] != '\0' && !set(record->former, reason))
        return false;
    return unlink(RT_LIMIT_RECORD) == 0 ||
           fault(reason, "%s: %s", RT_LIMIT_RECORD, strerror(errno));
}

bool rt_limit_restore(const char *by, char reason[static RT_LIMIT_REASON])
{
    struct record record;
    int fd = open_locked(0);
    if (fd < 0 && errno == ENOENT)
        return true;
    if (fd < 0)
        return fault(reason, "%s: %s", RT_LIMIT_RECORD, strerror(errno));
    read_record(&record, fd, by);
    const bool good = restore(&record, reason);
    close(fd);
    return good;
}
