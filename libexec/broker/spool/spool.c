#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paragraph.h"

struct spool spool = {
    .root = -1, .specs = -1, .log = -1, .starting = -1, .lasting = -1, .state = -1, .alive = -1};

/* ---- the spool itself ---- */

static int make_directory(int parent, const char *name, uid_t uid, gid_t gid, mode_t mode,
                          char *reason)
{
    struct stat status;
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
        snprintf(reason, REASON_BYTES, "cannot make %s: %s", name, strerror(errno));
        return -1;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || (status.st_uid != 0 && status.st_uid != geteuid())) {
        snprintf(reason, REASON_BYTES, "%s must be a directory of root's: %s", name,
                 fd < 0 ? strerror(errno) : "it does not belong to root");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (fchown(fd, uid, gid) != 0 || fchmod(fd, mode) != 0) {
        snprintf(reason, REASON_BYTES, "cannot set owner and mode of %s: %s", name,
                 strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

static void wake_up(int signal_number)
{
    (void)signal_number;
}

/* When a broker is killed, its attach helper, which shares the lock, may still finish its last
 * call, and then ends. So this function waits for the lock. If the lock is not free after two
 * seconds, another broker runs. */
static int take_lock(char *reason)
{
    struct sigaction interrupt = {.sa_handler = wake_up};
    int lock = openat(spool.lasting, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
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

static bool make_fifo(const char *name, char *reason)
{
    struct stat status;
    if (mkfifoat(spool.root, name, 0600) != 0 && errno != EEXIST) {
        snprintf(reason, REASON_BYTES, "cannot make %s: %s", name, strerror(errno));
        return false;
    }
    if (fstatat(spool.root, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISFIFO(status.st_mode) ||
        fchownat(spool.root, name, 0, spool.group, AT_SYMLINK_NOFOLLOW) != 0 ||
        fchmodat(spool.root, name, 0620, 0) != 0) {
        snprintf(reason, REASON_BYTES, "%s must be a FIFO: %s", name, strerror(errno));
        return false;
    }
    return true;
}

/* Opens the reading end of the FIFO. While this end is open, clients can open the writing end,
 * which shows them that the broker is there. */
static bool open_fifo(const char *name, int *fd, char *reason)
{
    *fd = openat(spool.root, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        snprintf(reason, REASON_BYTES, "%s cannot be opened: %s", name, strerror(errno));
    return *fd >= 0;
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
    spool.lasting = make_directory(spool.root, "state", 0, 0, 0700, reason);
    *lock = spool.lasting < 0 ? -1 : take_lock(reason);
    spool.specs = *lock < 0 ? -1 : make_directory(spool.root, "specs", 0, group, 03730, reason);
    spool.log = spool.specs < 0 ? -1
                                : make_directory(spool.root, "log", 0,
                                                 adm == NULL ? 0 : adm->gr_gid, 02750, reason);
    return spool.log >= 0 && make_fifo("starting", reason) &&
           open_fifo("starting", &spool.starting, reason);
}

int spool_open_state(const char *path, int *lock, char reason[static REASON_BYTES])
{
    name_spool(path);
    spool.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    spool.lasting = spool.root < 0 ? -1
                                   : openat(spool.root, "state",
                                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (spool.lasting < 0 && errno == ENOENT)
        return 0;
    if (spool.lasting < 0) {
        snprintf(reason, REASON_BYTES, "%.300s/state: %s", path, strerror(errno));
        return -1;
    }
    *lock = take_lock(reason);
    return *lock < 0 ? -1 : 1;
}

bool spool_make_alive(char reason[static REASON_BYTES])
{
    return make_fifo("alive", reason);
}

/* The broker opens the FIFO `alive` before it closes the FIFO `starting`. So if a client finds that
 * no broker is starting, and then that no broker is alive, the broker has ended. */
bool spool_announce(char reason[static REASON_BYTES])
{
    if (!open_fifo("alive", &spool.alive, reason))
        return false;
    close(spool.starting);
    return true;
}

bool spool_is_draining(void)
{
    return faccessat(spool.root, "draining", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
