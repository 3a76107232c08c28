#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "moment.h"
#include "spec.h"
#include "spool.h"
#include "units.h"

static bool times_are_fine;
static const int64_t second = 1000000000; /* ns */

/* From Linux 6.13 on the change time moves on whenever somebody has looked since the last change; before, and on some file
 * systems, it does so only with the clock's tick. */
static bool are_times_fine(void)
{
    struct stat one, other;
    bool fine = true;
    int fd = openat(spool.specs, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    for (int i = 0; fine && i < 3; i++)
        fine = fd >= 0 && write(fd, "", 1) == 1 && fstat(fd, &one) == 0 && write(fd, "", 1) == 1 && fstat(fd, &other) == 0 &&
               (one.st_ctim.tv_sec != other.st_ctim.tv_sec || one.st_ctim.tv_nsec != other.st_ctim.tv_nsec);
    if (fd >= 0)
        close(fd);
    return fine;
}

void files_begin(void)
{
    times_are_fine = are_times_fine();
}

/* ---- names ---- */

bool wish_of_name(const char *name, const char *ending, char stripped[256])
{
    size_t length = strlen(name), tail = strlen(ending);
    if (length <= tail || strcmp(name + length - tail, ending) != 0 || !name_is_valid(name, length - tail, NAME_BYTES - 1))
        return false;
    memcpy(stripped, name, length - tail);
    stripped[length - tail] = '\0';
    return true;
}

bool is_silent(const char *name)
{
    size_t length = strlen(name);
    return name[0] == '.' || (length > 8 && strcmp(name + length - 8, ".verdict") == 0);
}

/* ---- looking ---- */

enum { RESOLVE_PLAIN = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

int spool_open_plain(int directory, const char *name, uint64_t flags)
{
    struct open_how how = {.flags = O_NOFOLLOW | O_CLOEXEC | flags, .resolve = RESOLVE_PLAIN};
    int fd, tries = 0;
    do
        fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    while (fd < 0 && is_of_the_moment(errno) && ++tries < MOMENT_TRIES);
    return fd;
}

bool spool_look(int directory, const char *name, struct stat *status)
{
    int fd = spool_open_plain(directory, name, O_PATH);
    if (fd < 0)
        return false;
    bool seen;
    int tries = 0;
    do
        seen = fstat(fd, status) == 0;
    while (!seen && is_of_the_moment(errno) && ++tries < MOMENT_TRIES);
    close(fd);
    return seen;
}

/* ---- files ---- */

static struct stamp stamp_of(const struct stat *status)
{
    return (struct stamp){.inode = status->st_ino, .changed = status->st_ctim.tv_sec * second + status->st_ctim.tv_nsec};
}

bool stamp_equal(const struct stamp *one, const struct stamp *other)
{
    return one->inode == other->inode && one->changed == other->changed;
}

const char *file_name(char joined[static NAME_MAX + 1], const char *name, const char *ending)
{
    const size_t length = strnlen(name, NAME_BYTES - 1);
    memcpy(joined, name, length);
    memcpy(joined + length, ending, strlen(ending) + 1);
    return joined;
}

/* Of a file over which something is mounted. */
static const struct stamp mounted = {.inode = UINT64_MAX};

struct stamp spool_stamp(const struct user *user, const char *name, const char *ending, bool *has_other_names)
{
    char joined[NAME_MAX + 1];
    struct stat status;
    if (has_other_names != NULL)
        *has_other_names = false;
    if (user->gone)
        return (struct stamp){0};
    if (spool_look(user->directory, file_name(joined, name, ending), &status)) {
        if (has_other_names != NULL)
            *has_other_names = status.st_nlink > 1;
        return stamp_of(&status);
    }
    return errno == EXDEV ? mounted : (struct stamp){0};
}

static void bad(struct file *file, const char *reason)
{
    file->state = FILE_BAD;
    snprintf(file->reason, sizeof file->reason, "%s", reason);
}

/* Why openat2 did not open what is there. */
static void explain_open(const struct user *user, const char *joined, int error, struct file *file)
{
    struct stat status;
    if (error == EXDEV) {
        bad(file, "is on another file system; it must be a plain file in the directory");
        file->stamp = mounted;
        return;
    }
    if (error == ENOENT)
        return;
    if (!spool_look(user->directory, joined, &status)) {
        file->state = errno == ENOENT ? FILE_ABSENT : FILE_UNSEEN;
        return;
    }
    file->stamp = stamp_of(&status);
    if (error != EAGAIN && is_of_the_moment(error)) {
        file->state = FILE_UNSEEN;
        return;
    }
    if (S_ISLNK(status.st_mode))
        bad(file, "is a symbolic link; it must be a regular file");
    else if (error == EAGAIN)
        bad(file, "is under a write lease; it must be free to read");
    else if (!S_ISREG(status.st_mode))
        bad(file, "is a socket or a device; it must be a regular file");
    else {
        file->state = FILE_BAD;
        snprintf(file->reason, sizeof file->reason, "cannot be opened: %s", strerror(error));
    }
}

static bool judge_status(const struct user *user, const struct stat *status, struct file *file)
{
    if (S_ISDIR(status->st_mode))
        bad(file, "is a directory; it must be a regular file");
    else if (S_ISFIFO(status->st_mode))
        bad(file, "is a FIFO; it must be a regular file");
    else if (!S_ISREG(status->st_mode))
        bad(file, "is a socket or a device; it must be a regular file");
    else if (status->st_uid != user->uid) {
        file->state = FILE_BAD;
        snprintf(file->reason, sizeof file->reason, "belongs to uid %u; it must belong to uid %u as its directory does", status->st_uid, user->uid);
    } else if (status->st_size > FILE_BYTES_MAX)
        bad(file, "is longer than 64 KiB");
    else
        return true;
    return false;
}

static void read_text(struct file *file, size_t size)
{
    file->text = malloc(size + 1);
    ssize_t got = file->text == NULL ? -1 : pread(file->fd, file->text, size, 0);
    if (got < 0) {
        free(file->text);
        file->text = NULL;
        bad(file, "cannot be read");
        return;
    }
    file->length = (size_t)got;
    file->state = FILE_READ;
}

/* Ticks are 10 ms at most. */
static bool is_fresh(const struct stamp *stamp)
{
    return !times_are_fine && realtime_now() - stamp->changed < 20000000;
}

void spool_file_open(const struct user *user, const char *name, const char *ending, const struct stamp *known, struct file *file)
{
    char joined[NAME_MAX + 1];
    struct stat status;
    *file = (struct file){.fd = -1, .state = FILE_ABSENT};
    if (user->gone)
        return;
    file_name(joined, name, ending);
    file->fd = spool_open_plain(user->directory, joined, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0) {
        explain_open(user, joined, errno, file);
        return;
    }
    if (fstat(file->fd, &status) != 0) {
        file->state = FILE_UNSEEN;
        return;
    }
    file->stamp = stamp_of(&status);
    if (!judge_status(user, &status, file))
        return;
    if (stamp_equal(&file->stamp, known)) {
        file->stamp = *known;
        file->state = FILE_READ;
        return;
    }
    /* Refused while somebody has the file open for writing; holds later writers off until it is read. */
    if (fcntl(file->fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN) {
        file->state = FILE_BUSY;
        return;
    }
    /* What was written between fstat and the lease is of this reading too. */
    if (fstat(file->fd, &status) != 0)
        file->state = FILE_UNSEEN;
    else {
        file->stamp = stamp_of(&status);
        file->stamp.fresh = is_fresh(&file->stamp);
        file->linked = status.st_nlink > 1;
        if (judge_status(user, &status, file))
            read_text(file, (size_t)status.st_size);
        if (file->text != NULL)
            HASH_VALUE(file->text, file->length, file->stamp.digest);
    }
    (void)fcntl(file->fd, F_SETLEASE, F_UNLCK);
}

void spool_file_close(struct file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->text);
    *file = (struct file){.fd = -1, .state = FILE_ABSENT};
}

void spool_touch(const struct user *user, const char *name)
{
    struct file file;
    spool_file_open(user, name, ".json", &(struct stamp){0}, &file);
    spool_file_close(&file);
}

static void remove_name(const struct user *user, const char *name)
{
    for (int tries = 0; tries < MOMENT_TRIES && unlinkat(user->directory, name, 0) != 0 && is_of_the_moment(errno); tries++)
        ;
}

void spool_remove(const struct user *user, const char *name, const char *ending, const struct stamp *judged)
{
    char joined[NAME_MAX + 1], aside[NAME_MAX + 1];
    struct stat status, moved;
    file_name(joined, name, ending);
    if (user->gone)
        return;
    if (judged == NULL) {
        remove_name(user, joined);
        return;
    }
    if (!spool_look(user->directory, joined, &status))
        return;
    struct stamp now = stamp_of(&status);
    if (!stamp_equal(&now, judged))
        return; /* another file, or the same one with something new in it */
    /* Between looking and removing the owner may have put a new wish there: it is taken away under a private
     * name first, and given back if it is not the one that was meant. */
    snprintf(aside, sizeof aside, ".%.230s.ended", joined);
    if (renameat2(user->directory, joined, user->directory, aside, RENAME_NOREPLACE) != 0) {
        (void)unlinkat(user->directory, aside, 0);
        if (renameat2(user->directory, joined, user->directory, aside, RENAME_NOREPLACE) != 0)
            return;
    }
    if (spool_look(user->directory, aside, &moved) &&
        (moved.st_ino != status.st_ino || moved.st_mtim.tv_sec != status.st_mtim.tv_sec || moved.st_mtim.tv_nsec != status.st_mtim.tv_nsec) &&
        renameat2(user->directory, aside, user->directory, joined, RENAME_NOREPLACE) == 0)
        return;
    remove_name(user, aside);
}

bool spool_put_verdict(const struct user *user, const char *name, const char *text, size_t length, int64_t decided)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = decided / second, .tv_nsec = decided == 0 ? UTIME_NOW : decided % second}};
    static unsigned serial;
    char joined[NAME_MAX + 1], number[NUMBER_TEXT];
    if (user->gone) {
        errno = ENOENT;
        return false;
    }
    const char *staged = format_number(serial++, number);
    int fd = openat(spool.stage, staged, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    ssize_t put = write(fd, text, length);
    bool good = put == (ssize_t)length && futimens(fd, times) == 0 && fchown(fd, user->uid, spool.group) == 0;
    int error = put >= 0 && put != (ssize_t)length ? ENOSPC : errno;
    close(fd);
    if (good) {
        good = renameat(spool.stage, staged, user->directory, file_name(joined, name, ".verdict")) == 0;
        error = errno;
    }
    if (!good)
        (void)unlinkat(spool.stage, staged, 0);
    errno = error;
    return good;
}

int64_t spool_verdict_decided(const struct user *user, const char *name)
{
    char joined[NAME_MAX + 1];
    struct stat status;
    if (user->gone || !spool_look(user->directory, file_name(joined, name, ".verdict"), &status))
        return -1;
    return status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec;
}

/* ---- scanning ---- */

DIR *spool_list(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (listing == NULL && fd >= 0)
        close(fd);
    return listing;
}

bool spool_list_wishes(struct user *user, DIR *listing, int names, void (*each)(struct user *, const char *, enum listed))
{
    char name[256];
    const struct dirent *entry;
    while (names-- != 0) {
        errno = 0;
        if (user->gone || listing == NULL || (entry = readdir(listing)) == NULL)
            return false;
        if (wish_of_name(entry->d_name, ".json", name))
            each(user, name, LISTED_JSON);
        else if (wish_of_name(entry->d_name, ".tid", name))
            each(user, name, LISTED_TID);
        else if (wish_of_name(entry->d_name, ".verdict", name))
            each(user, name, LISTED_VERDICT);
        else if (!is_silent(entry->d_name))
            each(user, entry->d_name, LISTED_OTHER);
    }
    return true;
}

bool spool_list_directories(DIR *listing, int names, void (*each)(const char *))
{
    const struct dirent *entry;
    while (names-- != 0) {
        errno = 0;
        if (listing == NULL || (entry = readdir(listing)) == NULL)
            return false;
        if (entry->d_name[0] != '.')
            each(entry->d_name);
    }
    return true;
}
