#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uthash.h>

#include "clock.h"
#include "transient.h"
#include "units.h"

static uid_t owner;
static uint64_t own_mount; /* the id of the directory's mount */
static bool times_are_fine;
static const int64_t second = 1000000000; /* ns */

/* True: every change of a file that was looked at gives the file another change time. This is so
 * from Linux 6.13 on. Before Linux 6.13, and on some file systems, the change time advances only
 * with the clock's tick. */
static bool are_times_fine(void)
{
    struct stat one, other;
    bool fine = true;
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    for (int i = 0; fine && i < 3; i++)
        fine = fd >= 0 && write(fd, "", 1) == 1 && fstat(fd, &one) == 0 && write(fd, "", 1) == 1 &&
               fstat(fd, &other) == 0 &&
               (one.st_ctim.tv_sec != other.st_ctim.tv_sec ||
                one.st_ctim.tv_nsec != other.st_ctim.tv_nsec);
    if (fd >= 0)
        close(fd);
    return fine;
}

/* ---- names ---- */

bool name_without(const char *file, const char *ending, char name[static 256])
{
    size_t length = strlen(file), tail = strlen(ending);
    if (length <= tail || strcmp(file + length - tail, ending) != 0 ||
        !name_is_valid(file, length - tail, NAME_BYTES - 1))
        return false;
    memcpy(name, file, length - tail);
    name[length - tail] = '\0';
    return true;
}

bool is_silent(const char *file)
{
    size_t length = strlen(file);
    return file[0] == '.' || (length > 8 && strcmp(file + length - 8, ".verdict") == 0);
}

const char *file_name(char joined[static NAME_MAX + 1], const char *name, const char *ending)
{
    const size_t length = strnlen(name, NAME_BYTES - 1);
    memcpy(joined, name, length);
    memcpy(joined + length, ending, strlen(ending) + 1);
    return joined;
}

/* ---- looking ---- */

enum {
    RESOLVE_PLAIN = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
};

int open_plain(const char *file, uint64_t flags)
{
    struct open_how how = {.flags = O_NOFOLLOW | O_CLOEXEC | flags, .resolve = RESOLVE_PLAIN};
    int fd, tries = 0;
    do
        fd = (int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof how);
    while (fd < 0 && is_transient(errno) && ++tries < TRANSIENT_TRIES);
    return fd;
}

/* Calls statx(2). AT_STATX_DONT_SYNC: a file system that a user mounted on the name is not asked,
 * because it may never answer. */
static bool look_at(const char *file, int flags, struct statx *status)
{
    const unsigned fields = STATX_TYPE | STATX_INO | STATX_CTIME | STATX_MTIME | STATX_MNT_ID;
    int tries = 0;
    bool seen;
    do
        seen = statx(AT_FDCWD, file,
                     flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, fields,
                     status) == 0;
    while (!seen && is_transient(errno) && ++tries < TRANSIENT_TRIES);
    return seen;
}

/* Reads the status of the file. False with EXDEV: something is mounted on the name. Only ENOENT
 * means that the file does not exist. */
static bool look(const char *file, struct statx *status)
{
    if (!look_at(file, 0, status))
        return false;
    errno = EXDEV;
    return status->stx_mnt_id == own_mount;
}

static int64_t time_of(const struct statx_timestamp *time)
{
    return time->tv_sec * second + time->tv_nsec;
}

static struct stamp stamp_of(const struct stat *status)
{
    return (struct stamp){.inode = status->st_ino,
                          .changed = status->st_ctim.tv_sec * second + status->st_ctim.tv_nsec};
}

static struct stamp stamp_of_look(const struct statx *status)
{
    return (struct stamp){.inode = status->stx_ino, .changed = time_of(&status->stx_ctime)};
}

void files_begin(uid_t uid)
{
    struct statx here;
    owner = uid;
    own_mount = look_at("", AT_EMPTY_PATH, &here) ? here.stx_mnt_id : 0;
    times_are_fine = are_times_fine();
}

/* The stamp of a file on which something is mounted. */
static const struct stamp mounted = {.inode = UINT64_MAX};

bool file_stamp(const char *name, const char *ending, struct stamp *stamp)
{
    char joined[NAME_MAX + 1];
    struct statx status;
    *stamp = mounted;
    if (!look(file_name(joined, name, ending), &status))
        return errno == EXDEV;
    *stamp = stamp_of_look(&status);
    return true;
}

static enum looked bad(struct file *file, const char *joined, const char *what)
{
    file->state = FILE_BAD;
    snprintf(file->reason, sizeof file->reason, "%s %s", joined, what);
    return LOOKED_DONE;
}

/* Finds out why openat2 failed. */
static enum looked explain_open(const char *joined, int error, struct file *file)
{
    char text[160];
    struct statx status;
    if (error == EXDEV) {
        file->stamp = mounted;
        return bad(file, joined,
                   "is on another file system; it must be a plain file in the directory");
    }
    if (error == ENOENT)
        return LOOKED_DONE;
    if (!look(joined, &status))
        return errno == ENOENT ? LOOKED_DONE : LOOKED_UNSEEN;
    file->stamp = stamp_of_look(&status);
    if (error != EAGAIN && is_transient(error))
        return LOOKED_UNSEEN;
    if (S_ISLNK(status.stx_mode))
        return bad(file, joined, "is a symbolic link; it must be a regular file");
    if (error == EAGAIN)
        return bad(file, joined,
                   "is under a write lease (fcntl(2)): end the lease, and touch the file");
    if (S_ISDIR(status.stx_mode))
        return bad(file, joined, "is a directory; it must be a regular file");
    if (!S_ISREG(status.stx_mode) && !S_ISFIFO(status.stx_mode))
        return bad(file, joined, "is a socket or a device; it must be a regular file");
    snprintf(text, sizeof text, "cannot be opened: %s", strerror(error));
    return bad(file, joined, text);
}

static bool is_plain(const char *joined, const struct stat *status, struct file *file)
{
    char text[160];
    if (S_ISDIR(status->st_mode))
        (void)bad(file, joined, "is a directory; it must be a regular file");
    else if (S_ISFIFO(status->st_mode))
        (void)bad(file, joined, "is a FIFO; it must be a regular file");
    else if (!S_ISREG(status->st_mode))
        (void)bad(file, joined, "is a socket or a device; it must be a regular file");
    else if (status->st_uid != owner) {
        snprintf(text, sizeof text,
                 "belongs to uid %u; it must belong to uid %u as its directory does",
                 status->st_uid, owner);
        (void)bad(file, joined, text);
    } else if (status->st_size > SPEC_BYTES_MAX)
        (void)bad(file, joined, "is longer than 64 KiB");
    else
        return true;
    return false;
}

static void read_text(const char *joined, size_t size, struct file *file, struct content *content)
{
    content->text = malloc(size + 1);
    ssize_t got = content->text == NULL ? -1 : pread(content->fd, content->text, size, 0);
    if (got < 0) {
        free(content->text);
        content->text = NULL;
        (void)bad(file, joined, "cannot be read");
        return;
    }
    content->length = (size_t)got;
    file->state = FILE_READ;
    HASH_VALUE(content->text, content->length, file->stamp.digest);
}

/* True if the file changed less than two ticks ago (a tick is at most 10 ms), where timestamps are
 * coarse. */
static bool is_fresh(const struct stamp *stamp)
{
    return !times_are_fine && realtime_now() - stamp->changed < 20000000;
}

/* Reads the file under a read lease. BUSY if a process has the file open for writing; new writers
 * wait until the lease ends. */
static enum looked read_leased(const char *joined, struct file *file, struct content *content)
{
    struct stat status;
    enum looked looked = LOOKED_DONE;
    if (fcntl(content->fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN)
        return LOOKED_BUSY;
    /* Reads the stamp again, because a write between the first fstat and the lease belongs to the
     * content that is read here. */
    if (fstat(content->fd, &status) != 0)
        looked = LOOKED_UNSEEN;
    else {
        file->stamp = stamp_of(&status);
        file->stamp.fresh = is_fresh(&file->stamp);
        file->modified = status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec;
        content->has_two_names = status.st_nlink > 1;
        if (is_plain(joined, &status, file))
            read_text(joined, (size_t)status.st_size, file, content);
    }
    (void)fcntl(content->fd, F_SETLEASE, F_UNLCK);
    return looked;
}

enum looked file_look(const char *name, const char *ending, const struct stamp *known,
                      struct file *file, struct content *content)
{
    char joined[NAME_MAX + 1];
    struct stat status;
    *file = (struct file){.state = FILE_ABSENT};
    *content = (struct content){.fd = -1};
    file_name(joined, name, ending);
    content->fd = open_plain(joined, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (content->fd < 0)
        return explain_open(joined, errno, file);
    if (known == NULL || known->fresh)
        return read_leased(joined, file, content);
    if (fstat(content->fd, &status) != 0)
        return LOOKED_UNSEEN;
    file->stamp = stamp_of(&status);
    content->has_two_names = status.st_nlink > 1;
    if (!is_plain(joined, &status, file))
        return LOOKED_DONE;
    if (!stamp_equal(&file->stamp, known))
        return read_leased(joined, file, content);
    file->stamp = *known;
    file->state = FILE_SAME;
    return LOOKED_DONE;
}

void content_close(struct content *content)
{
    if (content->fd >= 0)
        close(content->fd);
    free(content->text);
    *content = (struct content){.fd = -1};
}

void file_touch(const char *name)
{
    char joined[NAME_MAX + 1];
    int fd = open_plain(file_name(joined, name, ".json"), O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        close(fd);
}

/* ---- changing ---- */

static void remove_name(const char *file)
{
    for (int tries = 0; tries < TRANSIENT_TRIES && unlink(file) != 0 && is_transient(errno);
         tries++)
        ;
}

void file_remove(const char *name, const char *ending, const struct stamp *judged)
{
    char joined[NAME_MAX + 1], aside[NAME_MAX + 1];
    struct statx status, moved;
    file_name(joined, name, ending);
    if (judged == NULL) {
        remove_name(joined);
        return;
    }
    if (!look(joined, &status))
        return;
    struct stamp there = stamp_of_look(&status);
    if (!stamp_equal(&there, judged))
        return; /* NAME.ending is another file now, or has changed */
    /* A race: the owner may replace the file after this look. So the file is first renamed to a
     * private name, and renamed back if it is not the judged file. */
    snprintf(aside, sizeof aside, ".%.230s.ended", joined);
    if (renameat2(AT_FDCWD, joined, AT_FDCWD, aside, RENAME_NOREPLACE) != 0) {
        (void)unlink(aside);
        if (renameat2(AT_FDCWD, joined, AT_FDCWD, aside, RENAME_NOREPLACE) != 0)
            return;
    }
    if (look(aside, &moved) &&
        (moved.stx_ino != status.stx_ino ||
         time_of(&moved.stx_mtime) != time_of(&status.stx_mtime)) &&
        renameat2(AT_FDCWD, aside, AT_FDCWD, joined, RENAME_NOREPLACE) == 0)
        return;
    remove_name(aside);
}

static int open_new(const char *file)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    (void)unlink(file); /* left by a killed reader, or made by the owner */
    return open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Writes NAME.verdict. The modification time is the time of the decision, so that a restarted
 * broker knows whether its last decision was told. */
int verdict_put(const char *name, const char *text, size_t length, int64_t decided)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = decided / second,
                                       .tv_nsec = decided == 0 ? UTIME_NOW : decided % second}};
    char unfinished[NAME_MAX + 1], verdict[NAME_MAX + 1];
    unfinished[0] = '.';
    file_name(verdict, name, ".verdict");
    memcpy(unfinished + 1, verdict, strlen(verdict) + 1);
    int fd = open_new(unfinished);
    if (fd < 0)
        return errno;
    ssize_t put = write(fd, text, length);
    bool good = put == (ssize_t)length && futimens(fd, times) == 0;
    int error = put >= 0 && put != (ssize_t)length ? ENOSPC : errno;
    close(fd);
    if (good && rename(unfinished, verdict) == 0)
        return 0;
    error = good ? errno : error;
    (void)unlink(unfinished);
    return error;
}

int64_t verdict_decided(const char *name)
{
    char joined[NAME_MAX + 1];
    struct statx status;
    return look(file_name(joined, name, ".verdict"), &status) ? time_of(&status.stx_mtime) : -1;
}
