#include "kernel-setting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reason.h"

enum { RECORD_BYTES = 4096, VALUE = 24, MOST = 16, BOOT = 48, FEATURES_BYTES = 4096 };

static struct kernel_setting settings[SETTINGS] = {
    [SETTING_RT_LIMIT] = {.file = "/proc/sys/kernel/sched_rt_runtime_us",
                          .record = RT_LIMIT_RECORD,
                          .wanted = "-1",
                          .fd = -1},
    [SETTING_HRTICK] = {.file = "/sys/kernel/debug/sched/features",
                        .record = HRTICK_RECORD,
                        .wanted = "HRTICK_DL",
                        .feature = "HRTICK_DL",
                        .fd = -1},
};

struct record {
    int fd; /* locked */
    char boot[BOOT], former[VALUE], by[MOST][RECORD_BYTES / MOST];
    int count; /* number of brokers in `by` */
};

#define fault(why, ...) fault_in(why, SETTING_REASON, __VA_ARGS__)

struct kernel_setting *setting_of(enum which_setting which)
{
    return &settings[which];
}

void setting_open(struct kernel_setting *setting)
{
    setting->fd = open(setting->file, O_RDWR | O_CLOEXEC);
    setting->open_error = errno;
}

void settings_open(void)
{
    for (int i = 0; i < SETTINGS; i++)
        setting_open(&settings[i]);
}

static bool read_line(int fd, char *line, size_t bytes)
{
    ssize_t got = pread(fd, line, bytes - 1, 0);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return got > 0;
}

/* Finds the word of the feature, its name or NO_ and its name. False: the kernel does not know the
 * feature. */
static bool find_feature(const char *feature, char *words, char *value)
{
    char *rest = words;
    for (const char *word; (word = strsep(&rest, " \n")) != NULL;)
        if (strcmp(word, feature) == 0 ||
            (strncmp(word, "NO_", 3) == 0 && strcmp(word + 3, feature) == 0)) {
            snprintf(value, VALUE, "%s", word);
            return true;
        }
    return false;
}

static bool read_value(const struct kernel_setting *setting, char value[static VALUE], char *reason)
{
    char text[FEATURES_BYTES];
    if (setting->fd < 0)
        return fault(reason, "%s cannot be opened: %s", setting->file,
                     strerror(setting->open_error));
    if (!read_line(setting->fd, text, sizeof text))
        return fault(reason, "%s cannot be read: %s", setting->file, strerror(errno));
    if (setting->feature != NULL)
        return find_feature(setting->feature, text, value) ||
               fault(reason, "%s has no %s", setting->file, setting->feature);
    snprintf(value, VALUE, "%.*s", VALUE - 1, text);
    return true;
}

static bool set(const struct kernel_setting *setting, const char *value, char *reason)
{
    return pwrite(setting->fd, value, strlen(value), 0) >= 0 ||
           fault(reason, "%s cannot be set to %s: %s", setting->file, value, strerror(errno));
}

/* ---- the record ---- */

/* Opens and locks the file of the record. Another broker may remove the file before the lock is
 * taken, so in this case the path is opened again. -1: errno says why. */
static int open_locked(const char *path, int flags)
{
    for (;;) {
        struct stat status;
        int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
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

/* Reads the record of the brokers that need the setting. Leaves out the broker `except`, and brokers
 * whose spools are gone. A record of an earlier boot counts as empty. */
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

/* Writes the record, one page, with one write(2), so that a killed process has written the whole
 * record or nothing. */
static bool write_record(const struct kernel_setting *setting, const struct record *record,
                         char *reason)
{
    char text[RECORD_BYTES];
    int length = snprintf(text, sizeof text, "boot=%s\nformer=%s\n", record->boot, record->former);
    for (int i = 0; i < record->count; i++)
        if (length < RECORD_BYTES)
            length +=
                snprintf(text + length, (size_t)(RECORD_BYTES - length), "by=%s\n", record->by[i]);
    if (length >= RECORD_BYTES)
        return fault(reason, "the record %s has no room for more brokers", setting->record);
    memset(text + length, '\n', (size_t)(RECORD_BYTES - length));
    return pwrite(record->fd, text, sizeof text, 0) == RECORD_BYTES ||
           fault(reason, "%s: %s", setting->record, strerror(errno));
}

/* ---- what brokers ask for ---- */

static bool take(const struct kernel_setting *setting, struct record *record, const char *by,
                 char *reason)
{
    char now[VALUE];
    if (!read_value(setting, now, reason))
        return false;
    if (record->count == MOST || strlen(by) >= sizeof record->by[0])
        return fault(reason, "the record %s has no room for the broker of the spool %.200s",
                     setting->record, by);
    /* If no broker is left in the record and the setting does not have the wanted value, somebody
     * has set the present value by hand. The present value becomes the former value. */
    if (record->former[0] == '\0' || (record->count == 0 && strcmp(now, setting->wanted) != 0))
        snprintf(record->former, sizeof record->former, "%s", now);
    snprintf(record->by[record->count++], sizeof record->by[0], "%s", by);
    return write_record(setting, record, reason) &&
           (strcmp(now, setting->wanted) == 0 || set(setting, setting->wanted, reason));
}

bool setting_take(const struct kernel_setting *setting, const char *by,
                  char reason[static SETTING_REASON])
{
    struct record record;
    char ignored[VALUE];
    if (!read_value(setting, ignored, reason))
        return false; /* a setting that cannot be read gets no record */
    int fd = open_locked(setting->record, O_CREAT);
    if (fd < 0)
        return fault(reason, "%s: %s", setting->record, strerror(errno));
    read_record(&record, fd, by);
    const bool good = take(setting, &record, by, reason);
    close(fd);
    return good;
}

/* Removes the record only after the setting is restored: if the kernel refuses, the caller can
 * try again. */
static bool restore(const struct kernel_setting *setting, const struct record *record, char *reason)
{
    if (record->count > 0)
        return write_record(setting, record, reason);
    if (record->former[0] != '\0' && !set(setting, record->former, reason))
        return false;
    return unlink(setting->record) == 0 ||
           fault(reason, "%s: %s", setting->record, strerror(errno));
}

bool setting_restore(const struct kernel_setting *setting, const char *by,
                     char reason[static SETTING_REASON])
{
    struct record record;
    int fd = open_locked(setting->record, 0);
    if (fd < 0 && errno == ENOENT)
        return true;
    if (fd < 0)
        return fault(reason, "%s: %s", setting->record, strerror(errno));
    read_record(&record, fd, by);
    const bool good = restore(setting, &record, reason);
    close(fd);
    return good;
}
