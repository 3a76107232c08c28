#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "files.h"
#include "moment.h"
#include "noticing.h"
#include "paragraph.h"

struct spool spool = {.root = -1, .specs = -1, .log = -1, .state = -1, .stage = -1, .alive = -1};

static struct user *users;

/* ---- the spool itself ---- */

static int make_directory(int parent, const char *name, uid_t uid, gid_t gid, mode_t mode, char *reason)
{
    struct stat status;
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
        snprintf(reason, REASON_BYTES, "cannot make %s: %s", name, strerror(errno));
        return -1;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || (status.st_uid != 0 && status.st_uid != geteuid())) {
        snprintf(reason, REASON_BYTES, "%s must be a directory of root's: %s", name, fd < 0 ? strerror(errno) : "it is somebody else's");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (fchown(fd, uid, gid) != 0 || fchmod(fd, mode) != 0) {
        snprintf(reason, REASON_BYTES, "cannot set owner and mode of %s: %s", name, strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

/* rename(2) does not cross file systems: where specs/ is one of its own, verdicts are staged inside it. */
static int open_stage(char *reason)
{
    struct stat specs, stage;
    int fd = make_directory(spool.root, "stage", 0, 0, 0700, reason);
    if (fd < 0 || fstat(spool.specs, &specs) != 0 || fstat(fd, &stage) != 0 || specs.st_dev == stage.st_dev)
        return fd;
    close(fd);
    return make_directory(spool.specs, ".stage", 0, 0, 0700, reason);
}

static void wake_up(int signal_number)
{
    (void)signal_number;
}

/* A broker that was killed may have left a helper in the middle of its last call. It shares the lock and ends
 * at once, so waiting a little is right; two seconds are another broker. */
static int take_lock(char *reason)
{
    struct sigaction interrupt = {.sa_handler = wake_up};
    int lock = openat(spool.state, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0) {
        snprintf(reason, REASON_BYTES, "cannot open state/lock: %s", strerror(errno));
        return -1;
    }
    sigaction(SIGALRM, &interrupt, NULL);
    alarm(2);
    int got = flock(lock, LOCK_EX);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    if (got == 0)
        return lock;
    snprintf(reason, REASON_BYTES, "another broker serves this spool");
    close(lock);
    return -1;
}

static void name_spool(const char *path)
{
    snprintf(spool.path, sizeof spool.path, "%s", path);
    (void)paragraph_clean(spool.path);
}

bool spool_open(const char *path, gid_t group, int *lock, char reason[static REASON_BYTES])
{
    const struct group *adm = getgrnam("adm");
    spool.group = group;
    name_spool(path);
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        snprintf(reason, REASON_BYTES, "%.300s: %s", path, strerror(errno));
        return false;
    }
    spool.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spool.root < 0) {
        snprintf(reason, REASON_BYTES, "%.300s: %s", path, strerror(errno));
        return false;
    }
    (void)fchmod(spool.root, 0755);
    spool.state = make_directory(spool.root, "state", 0, 0, 0700, reason);
    *lock = spool.state < 0 ? -1 : take_lock(reason);
    if (*lock < 0)
        return false;
    spool.specs = make_directory(spool.root, "specs", 0, group, 03730, reason);
    spool.log = spool.specs < 0 ? -1 : make_directory(spool.root, "log", 0, adm == NULL ? 0 : adm->gr_gid, 02750, reason);
    spool.stage = spool.log < 0 ? -1 : open_stage(reason);
    files_begin();
    return spool.stage >= 0;
}

int spool_open_state(const char *path, int *lock, char reason[static REASON_BYTES])
{
    name_spool(path);
    spool.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    spool.state = spool.root < 0 ? -1 : openat(spool.root, "state", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (spool.state < 0 && errno == ENOENT)
        return 0;
    if (spool.state < 0) {
        snprintf(reason, REASON_BYTES, "%.300s/state: %s", path, strerror(errno));
        return -1;
    }
    *lock = take_lock(reason);
    return *lock < 0 ? -1 : 1;
}

bool spool_announce(char reason[static REASON_BYTES])
{
    struct stat status;
    if (mkfifoat(spool.root, "alive", 0600) != 0 && errno != EEXIST) {
        snprintf(reason, REASON_BYTES, "cannot make alive: %s", strerror(errno));
        return false;
    }
    spool.alive = openat(spool.root, "alive", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (spool.alive < 0 || fstat(spool.alive, &status) != 0 || !S_ISFIFO(status.st_mode) ||
        fchown(spool.alive, 0, spool.group) != 0 || fchmod(spool.alive, 0620) != 0) {
        snprintf(reason, REASON_BYTES, "alive must be a FIFO: %s", strerror(errno));
        return false;
    }
    return true;
}

/* ---- directories ---- */

struct user *spool_users(void)
{
    return users;
}

struct user *spool_user_find(const char *name)
{
    struct user *user;
    HASH_FIND_STR(users, name, user);
    return user;
}

struct user *spool_user_open(const char *name, uid_t *uid, bool *is_directory, bool *exists)
{
    struct stat status;
    errno = 0;
    *exists = spool_look(spool.specs, name, &status);
    *uid = *exists ? status.st_uid : 0;
    *is_directory = *exists && S_ISDIR(status.st_mode);
    if (!*is_directory || strlen(name) >= NAME_BYTES)
        return NULL;
    int fd = spool_open_plain(spool.specs, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        *exists = !is_of_the_moment(error);
        errno = error;
        return NULL;
    }
    *uid = status.st_uid;
    struct user *user = calloc(1, sizeof *user);
    if (user == NULL)
        abort();
    snprintf(user->name, sizeof user->name, "%s", name);
    user->uid = status.st_uid;
    user->directory = fd;
    user->watch = -1;
    HASH_ADD_STR(users, name, user);
    (void)spool_user_watch(user);
    return user;
}

void spool_user_leave(struct user *user)
{
    if (user->gone)
        return;
    user->gone = true;
    HASH_DELETE(hh, users, user);
    spool_user_unwatch(user);
}

void spool_user_close(struct user *user)
{
    spool_user_leave(user);
    close(user->directory);
    free(user);
}

static bool close_to_others(int directory)
{
    struct stat status;
    return fstat(directory, &status) == 0 && (status.st_gid == spool.group || fchown(directory, (uid_t)-1, spool.group) == 0) &&
           ((status.st_mode & 07777) == 02700 || fchmod(directory, 02700) == 0);
}

void spool_user_adopt(struct user *user)
{
    user->adopted = true;
    for (int tries = 0; tries < MOMENT_TRIES && !close_to_others(user->directory) && is_of_the_moment(errno); tries++)
        ;
}

bool spool_move_aside(const char *name, uid_t uid)
{
    char aside[NAME_MAX + 1];
    uint64_t number;
    if (unlinkat(spool.specs, name, AT_REMOVEDIR) == 0)
        return true; /* empty: nothing is lost */
    /* A name that can be foreseen can be taken before. */
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return false;
    snprintf(aside, sizeof aside, ".aside-%u-%016llx-%.200s", uid, (unsigned long long)number, name);
    return renameat2(spool.specs, name, spool.specs, aside, RENAME_NOREPLACE) == 0;
}
