#include "place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "run-directory.h"
#include "spool.h"

static const char default_parent[] = RUN_DIRECTORY, link_name[] = "current", new_link_name[] = "current.new", record_name[] = "spool",
                  journal_name[] = "journal", other_name[] = "journal.other", orders_name[] = "orders";
enum { ID_DIGITS = 16, PATH_BYTES = 512, RECORD_BYTES = PATH_BYTES + 64, TRIES = 3 };

/* Whose a directory is. */
struct owner {
    unsigned long long device, inode; /* of the link */
    char spool[PATH_BYTES];
};

static char path[PATH_BYTES], former_path[PATH_BYTES], doubt[300];
static int record = -1; /* locked */
static bool link_waits, former_is_lasting;

/* ---- the link, and who owns what it leads to ---- */

static bool is_id(const char *name)
{
    return strlen(name) == ID_DIGITS && strspn(name, "0123456789abcdef") == ID_DIGITS;
}

/* False: it leads to nowhere that we could have meant. */
static bool read_link(int lasting, char target[static PATH_BYTES])
{
    ssize_t length = readlinkat(lasting, link_name, target, PATH_BYTES - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    return target[0] == '/' && slash != NULL && is_id(slash + 1);
}

static bool look_at(int lasting, const char *name, struct owner *owner)
{
    struct stat status;
    if (fstatat(lasting, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(status.st_mode))
        return false;
    owner->device = status.st_dev;
    owner->inode = status.st_ino;
    return true;
}

/* Nobody but root can have written there. */
static int open_private(const char *directory)
{
    struct stat status;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & 022) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool read_owner(int file, struct owner *owner)
{
    char text[RECORD_BYTES];
    int at = 0;
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    if (length <= 0 || text[length - 1] != '\n')
        return false;
    text[length - 1] = '\0';
    if (sscanf(text, "%llu %llu %n", &owner->device, &owner->inode, &at) != 2 || at == 0 || text[at] != '/')
        return false;
    return snprintf(owner->spool, sizeof owner->spool, "%s", text + at) < (int)sizeof owner->spool;
}

static bool is_same(const struct owner *one, const struct owner *other)
{
    return one->device == other->device && one->inode == other->inode;
}

/* Its spool is where it was, and its link is the one: then another link that leads there is a copy. */
static bool is_there(const struct owner *owner)
{
    char state[PATH_BYTES + 8];
    struct owner now;
    snprintf(state, sizeof state, "%s/state", owner->spool);
    int lasting = open(state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool there = lasting >= 0 && look_at(lasting, link_name, &now) && is_same(owner, &now);
    if (lasting >= 0)
        close(lasting);
    return there;
}

/* One whose broker was killed before it could say whose it is has nothing in it. */
static bool is_ours(int directory, const struct owner *us)
{
    struct owner owner;
    int file = openat(directory, record_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool ours = file < 0 || !read_owner(file, &owner) || is_same(&owner, us) || !is_there(&owner);
    if (file >= 0)
        close(file);
    return ours;
}

/* By a broker that serves another spool: one that was copied with all its disk. */
static bool is_locked(int directory)
{
    int file = openat(directory, record_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    bool locked = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0;
    if (file >= 0)
        close(file);
    return locked;
}

/* What the link leads to, if that is this spool's; -1. */
static int open_linked(int lasting, char target[static PATH_BYTES], bool to_serve)
{
    struct owner us;
    int fd = look_at(lasting, link_name, &us) && read_link(lasting, target) ? open_private(target) : -1;
    if (fd < 0 || (is_ours(fd, &us) && !(to_serve && is_locked(fd))))
        return fd;
    close(fd);
    return -1;
}

static bool leads_to(int lasting, const char *target)
{
    char now[PATH_BYTES];
    ssize_t length = readlinkat(lasting, link_name, now, sizeof now);
    return length > 0 && (size_t)length == strlen(target) && memcmp(now, target, (size_t)length) == 0;
}

/* Made ready here, and put in place when the journal that it leads to is complete. */
static bool prepare_link(const char *target, struct owner *owner)
{
    (void)unlinkat(spool.lasting, new_link_name, 0);
    link_waits = !leads_to(spool.lasting, target);
    if (link_waits && symlinkat(target, spool.lasting, new_link_name) != 0) {
        link_waits = false;
        return false;
    }
    return look_at(spool.lasting, link_waits ? new_link_name : link_name, owner);
}

/* ---- directories ---- */

static void empty(int directory)
{
    static const char *const names[] = {other_name, journal_name, "books.json", orders_name, record_name}; /* the last one last: it has the lock */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlinkat(directory, names[i], 0);
}

/* A spool may be unmounted for a while, or be moved while no broker serves it: what is to be removed has not been written to for a day. */
static bool is_old(int directory)
{
    static const time_t day = 86400;
    struct stat one, other;
    return (fstatat(directory, journal_name, &one, AT_SYMLINK_NOFOLLOW) != 0 || one.st_mtime < time(NULL) - day) &&
           (fstatat(directory, other_name, &other, AT_SYMLINK_NOFOLLOW) != 0 || other.st_mtime < time(NULL) - day);
}

/* Those of spools that are gone: directories that were removed, build trees. */
static void sweep_one(int parent, const char *name)
{
    struct owner owner;
    int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int file = directory < 0 ? -1 : openat(directory, record_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && !(read_owner(file, &owner) && is_there(&owner)) && is_old(directory))
        empty(directory);
    (void)unlinkat(parent, name, AT_REMOVEDIR); /* if it is empty */
    if (file >= 0)
        close(file);
    if (directory >= 0)
        close(directory);
}

static void sweep(const char *parent)
{
    const struct dirent *entry;
    DIR *all = opendir(parent);
    while (all != NULL && (entry = readdir(all)) != NULL)
        if (is_id(entry->d_name))
            sweep_one(dirfd(all), entry->d_name);
    if (all != NULL)
        closedir(all);
}

static bool write_owner(int file, const struct owner *owner)
{
    char text[RECORD_BYTES];
    int length = snprintf(text, sizeof text, "%llu %llu %s\n", owner->device, owner->inode, owner->spool);
    return length < (int)sizeof text && ftruncate(file, 0) == 0 && pwrite(file, text, (size_t)length, 0) == length;
}

/* Nobody has taken it for a remnant, and removed it, before it was locked. */
static bool is_linked(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && status.st_nlink > 0;
}

/* Makes it if it is missing, and locks it. False: it cannot be had, or another broker has it. */
static bool take(const char *target)
{
    if (mkdir(target, 0700) != 0 && errno != EEXIST)
        return false;
    spool.state = open_private(target);
    record = spool.state < 0 ? -1 : openat(spool.state, record_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (record >= 0 && flock(record, LOCK_EX | LOCK_NB) == 0 && is_linked(record)) {
        snprintf(path, sizeof path, "%s", target);
        return true;
    }
    int error = errno;
    if (record >= 0)
        close(record);
    if (spool.state >= 0)
        close(spool.state);
    record = spool.state = -1;
    errno = error;
    return false;
}

static bool take_new(const char *parent)
{
    char target[PATH_BYTES];
    uint64_t number;
    for (int i = 0; i < TRIES; i++)
        if (getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number &&
            snprintf(target, sizeof target, "%s/%016llx", parent, (unsigned long long)number) < (int)sizeof target && take(target))
            return true;
    return false;
}

/* The directory that the link names is taken up, also after a boot; unless another spool has one of that name. */
static bool take_any(const char *parent, const char *linked, bool may_be_linked)
{
    const size_t length = strlen(parent);
    struct stat status;
    bool beneath = linked[0] != '\0' && strncmp(linked, parent, length) == 0 && linked[length] == '/' && strchr(linked + length + 1, '/') == NULL;
    if (beneath && (may_be_linked || (lstat(linked, &status) != 0 && errno == ENOENT)) && take(linked))
        return true;
    return take_new(parent);
}

/* A path through which we find the spool again, from wherever. */
static bool name_us(struct owner *us)
{
    char real[PATH_MAX];
    snprintf(real, sizeof real, "/proc/self/fd/%d", spool.root);
    ssize_t length = readlink(real, us->spool, sizeof us->spool - 1);
    if (length <= 0)
        return false;
    us->spool[length] = '\0';
    return true;
}

/* Why not there; NULL: it is. */
static const char *why_not_in(const char *parent, bool must_be_memory)
{
    struct statfs status;
    if (mkdir(parent, strcmp(parent, RUN_DIRECTORY) == 0 ? RUN_DIRECTORY_MODE : 0755) != 0 && errno != EEXIST)
        return strerror(errno);
    int fd = open_private(parent);
    if (fd < 0)
        return "it must be a directory that only root can write to";
    bool in_memory = fstatfs(fd, &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
    close(fd);
    return in_memory || !must_be_memory ? NULL : "it is not in memory (a tmpfs)";
}

static bool stay_in_lasting(void)
{
    spool.state = fcntl(spool.lasting, F_DUPFD_CLOEXEC, 0);
    struct owner nobody;
    (void)prepare_link(".", &nobody); /* for people: on a full disk it is not needed */
    return spool.state >= 0;
}

bool place_open(const char *parent, char reason[static REASON_BYTES])
{
    char linked[PATH_BYTES] = "";
    struct owner us;
    const char *in = parent == NULL ? default_parent : parent, *why = why_not_in(in, parent == NULL);
    int old = open_linked(spool.lasting, linked, true);
    bool taken = why == NULL && take_any(in, linked, old >= 0);
    /* A broker that ends removes /run/rtf when it is empty: it may have been just then. */
    for (int i = 0; why == NULL && !taken && errno == ENOENT && i < TRIES; i++) {
        why = why_not_in(in, parent == NULL);
        taken = why == NULL && take_any(in, linked, old >= 0);
    }
    if (why == NULL && !taken)
        why = strerror(errno);
    if (taken && (!prepare_link(path, &us) || !name_us(&us) || !write_owner(record, &us))) {
        why = strerror(errno);
        taken = false;
    }
    if (!taken && parent != NULL) {
        snprintf(reason, REASON_BYTES, "%.200s: %s", in, why);
        return false;
    }
    if (!taken) {
        path[0] = '\0';
        snprintf(doubt, sizeof doubt, "the journal is in state/, and the broker may have to wait for its disk: %s: %s", in, why);
    }
    sweep(in);
    /* Whoever has one elsewhere removes this one before he serves: it is the newer one, if it is there. */
    bool in_lasting = faccessat(spool.lasting, journal_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    former_is_lasting = in_lasting && taken;
    spool.former = former_is_lasting ? fcntl(spool.lasting, F_DUPFD_CLOEXEC, 0) : -1;
    if (!in_lasting && old >= 0 && (!taken || strcmp(linked, path) != 0))
        snprintf(former_path, sizeof former_path, "%s", linked);
    if (former_path[0] != '\0')
        spool.former = old;
    else if (old >= 0)
        close(old);
    if (taken || stay_in_lasting())
        return true;
    snprintf(reason, REASON_BYTES, "state: %s", strerror(errno));
    return false;
}

bool place_settle(char reason[static REASON_BYTES])
{
    if (link_waits && renameat(spool.lasting, new_link_name, spool.lasting, link_name) != 0 && path[0] != '\0') {
        snprintf(reason, REASON_BYTES, "state/%s: %s", link_name, strerror(errno));
        return false;
    }
    link_waits = false;
    if (spool.former < 0)
        return true;
    (void)unlinkat(spool.former, other_name, 0);
    bool good = unlinkat(spool.former, journal_name, 0) == 0 || errno == ENOENT;
    if (!good && former_is_lasting) { /* it would be taken for the newer one; elsewhere nothing leads to it any more */
        snprintf(reason, REASON_BYTES, "state/%s, which is now in %.300s, cannot be removed: %s", journal_name, path, strerror(errno));
        return false;
    }
    if (!former_is_lasting)
        empty(spool.former); /* and a later broker removes it */
    close(spool.former);
    spool.former = -1;
    return true;
}

void place_find(void)
{
    char linked[PATH_BYTES];
    bool in_lasting = faccessat(spool.lasting, journal_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    spool.state = in_lasting ? -1 : open_linked(spool.lasting, linked, false);
    if (spool.state < 0)
        spool.state = fcntl(spool.lasting, F_DUPFD_CLOEXEC, 0);
}

static void make_empty(const char *name)
{
    const int fd = openat(spool.state, name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
}

void place_leave(void)
{
    if (path[0] == '\0')
        return;
    make_empty(other_name);
    make_empty(journal_name);
}

static off_t size_of(int directory, const char *name)
{
    struct stat status;
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_size : 0;
}

void place_end(int directory)
{
    const off_t journal = size_of(directory, journal_name), other = size_of(directory, other_name);
    (void)unlinkat(directory, orders_name, 0);
    if (journal == 0 && other > 0)
        (void)renameat(directory, other_name, directory, journal_name);
    if (journal > 0 || other > 0 || path[0] == '\0')
        return;
    empty(directory);
    (void)rmdir(path);
}

const char *place_path(void)
{
    return path;
}

const char *place_former_path(void)
{
    return former_path;
}

const char *place_doubt(void)
{
    return doubt[0] == '\0' ? NULL : doubt;
}
