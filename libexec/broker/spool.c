#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "moment.h"
#include "paragraph.h"
#include "spec.h"

struct spool spool = {.root = -1, .specs = -1, .log = -1, .state = -1, .stage = -1, .alive = -1};

static struct user *users, *users_by_watch;
static struct wish *busy_wishes;
static TAILQ_HEAD(, wish) handed_wishes = TAILQ_HEAD_INITIALIZER(handed_wishes); /* of one event, one by one */
static int inotify = -1, specs_watch = -1;
static bool times_are_fine;
static void (*tell_noise)(struct user *user, unsigned events);

static const uint32_t directory_events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB;

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

bool spool_watch(struct source *source, void (*noise)(struct user *user, unsigned events))
{
    char path[64];
    tell_noise = noise;
    times_are_fine = are_times_fine();
    inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", spool.specs);
    specs_watch = inotify < 0 ? -1 : inotify_add_watch(inotify, path, IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_ONLYDIR);
    return specs_watch >= 0 && loop_add(inotify, EPOLLIN, source);
}

/* ---- events ---- */

/* Room for the whole queue of the kernel: what is in it of one who floods it must be known at once, before it is full again. */
static char event_bytes[1024 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));
static size_t event_length, event_taken;
static bool events_drained; /* the last reading had room for more */

static void count_noise(void)
{
    struct user *user = NULL;
    unsigned events = 0;
    int watch = -1;
    for (size_t at = 0; at < event_length;) {
        const struct inotify_event *raw = (const void *)(event_bytes + at);
        at += sizeof *raw + raw->len;
        if (raw->wd == watch) {
            events++;
            continue;
        }
        if (user != NULL)
            tell_noise(user, events);
        events = 1;
        watch = raw->wd;
        HASH_FIND(hh_watch, users_by_watch, &watch, sizeof watch, user);
    }
    if (user != NULL)
        tell_noise(user, events);
}

static bool strip(const char *name, const char *ending, char stripped[static 256])
{
    size_t length = strlen(name), tail = strlen(ending);
    if (length <= tail || strcmp(name + length - tail, ending) != 0 || !name_is_valid(name, length - tail, NAME_BYTES - 1))
        return false;
    memcpy(stripped, name, length - tail);
    stripped[length - tail] = '\0';
    return true;
}

static bool strip_ending(const char *name, char stripped[static 256])
{
    return strip(name, ".json", stripped) || strip(name, ".tid", stripped);
}

/* Names that only the broker's own answers and unfinished writing have. */
static bool is_silent(const char *name)
{
    size_t length = strlen(name);
    return name[0] == '.' || (length > 8 && strcmp(name + length - 8, ".verdict") == 0);
}

/* All wishes of a file that was watched: taken from the watch first, for looking at one may watch it again. */
static bool hand_out(int watch)
{
    struct wish *wish;
    bool any = false;
    for (;;) {
        HASH_FIND(hh_busy, busy_wishes, &watch, sizeof watch, wish);
        if (wish == NULL)
            return any;
        spool_forget_busy(wish);
        wish->handed = any = true;
        TAILQ_INSERT_TAIL(&handed_wishes, wish, of_handed);
    }
}

static bool take_handed(struct spool_event *event)
{
    struct wish *wish = TAILQ_FIRST(&handed_wishes);
    if (wish == NULL)
        return false;
    TAILQ_REMOVE(&handed_wishes, wish, of_handed);
    wish->handed = false;
    *event = (struct spool_event){.kind = SPOOL_WISH, .user = wish->user, .wish = wish};
    snprintf(event->name, sizeof event->name, "%s", wish->name);
    return true;
}

/* What tells nothing is an event, too: a turn is to end, however many of them there are. */
static void take_event(const struct inotify_event *raw, struct spool_event *event)
{
    *event = (struct spool_event){.kind = SPOOL_NOTHING};
    if ((raw->mask & IN_Q_OVERFLOW) != 0) {
        event->kind = SPOOL_OVERFLOW;
        return;
    }
    if (hand_out(raw->wd)) {
        (void)take_handed(event);
        return;
    }
    if (raw->wd == specs_watch && raw->len != 0 && raw->name[0] != '.') {
        event->kind = SPOOL_DIRECTORY;
        snprintf(event->name, sizeof event->name, "%s", raw->name);
        return;
    }
    HASH_FIND(hh_watch, users_by_watch, &raw->wd, sizeof raw->wd, event->user);
    if (event->user == NULL || raw->len == 0 || is_silent(raw->name))
        return;
    event->kind = strip_ending(raw->name, event->name) ? SPOOL_WISH : SPOOL_OTHER_NAME;
    /* What is there after a file went has not told of itself yet: open(2) makes a file before its IN_CREATE. */
    event->newborn = (raw->mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM)) != 0;
    if ((raw->mask & IN_CLOSE_WRITE) != 0)
        event->closed = strip(raw->name, ".json", event->name) ? OF_JSON : OF_TID;
    if (event->kind == SPOOL_OTHER_NAME && (raw->mask & (IN_CREATE | IN_MOVED_TO)) == 0)
        event->kind = SPOOL_NOTHING; /* told when it appeared */
    if (event->kind == SPOOL_OTHER_NAME)
        snprintf(event->name, sizeof event->name, "%s", raw->name);
}

bool spool_next(struct spool_event *event)
{
    if (take_handed(event))
        return true;
    if (event_taken >= event_length) {
        ssize_t got = events_drained ? 0 : read(inotify, event_bytes, sizeof event_bytes);
        events_drained = false;
        if (got <= 0)
            return false;
        event_length = (size_t)got;
        event_taken = 0;
        events_drained = event_length + sizeof(struct inotify_event) + NAME_MAX + 1 <= sizeof event_bytes;
        count_noise();
    }
    const struct inotify_event *raw = (const void *)(event_bytes + event_taken);
    event_taken += sizeof *raw + raw->len;
    take_event(raw, event);
    return true;
}

/* ---- looking ---- */

enum { RESOLVE_PLAIN = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

static int open_plain(int directory, const char *name, uint64_t flags)
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
    int fd = open_plain(directory, name, O_PATH);
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
    int fd = open_plain(spool.specs, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
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

bool spool_user_watch(struct user *user)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", user->directory);
    struct user *other = NULL;
    int watch = inotify_add_watch(inotify, path, directory_events | IN_ONLYDIR | IN_EXCL_UNLINK);
    if (watch >= 0)
        HASH_FIND(hh_watch, users_by_watch, &watch, sizeof watch, other);
    if (watch < 0 || other != NULL) /* it was called otherwise a moment ago, and that name has not been looked at yet */
        return false;
    user->watch = watch;
    HASH_ADD(hh_watch, users_by_watch, watch, sizeof user->watch, user);
    return true;
}

void spool_user_unwatch(struct user *user)
{
    if (user->watch < 0)
        return;
    HASH_DELETE(hh_watch, users_by_watch, user);
    (void)inotify_rm_watch(inotify, user->watch);
    user->watch = -1;
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

/* ---- files ---- */

static struct stamp stamp_of(const struct stat *status)
{
    return (struct stamp){.inode = status->st_ino, .seconds = status->st_ctim.tv_sec, .nanoseconds = status->st_ctim.tv_nsec};
}

bool stamp_equal(const struct stamp *one, const struct stamp *other)
{
    return one->inode == other->inode && one->seconds == other->seconds && one->nanoseconds == other->nanoseconds;
}

static const char *file_name(char joined[static NAME_MAX + 1], const char *name, const char *ending)
{
    snprintf(joined, NAME_MAX + 1, "%.64s%s", name, ending);
    return joined;
}

/* Of a file over which something is mounted. */
static const struct stamp mounted = {.inode = UINT64_MAX};

struct stamp spool_stamp(const struct user *user, const char *name, const char *ending)
{
    char joined[NAME_MAX + 1];
    struct stat status;
    if (user->gone)
        return (struct stamp){0};
    if (spool_look(user->directory, file_name(joined, name, ending), &status))
        return stamp_of(&status);
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
    return !times_are_fine && realtime_now() - (stamp->seconds * 1000000000 + stamp->nanoseconds) < 20000000;
}

void spool_file_open(const struct user *user, const char *name, const char *ending, const struct stamp *known, struct file *file)
{
    char joined[NAME_MAX + 1];
    struct stat status;
    *file = (struct file){.fd = -1, .state = FILE_ABSENT};
    if (user->gone)
        return;
    file_name(joined, name, ending);
    file->fd = open_plain(user->directory, joined, O_RDONLY | O_NONBLOCK | O_NOCTTY);
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

static const int64_t first_look = 1000000, last_look = 512000000; /* ns */
enum { UNWATCHED = -2 }; /* the user's or the machine's watches are used up */

void spool_forget(struct wish *wish)
{
    spool_forget_busy(wish);
    if (wish->handed)
        TAILQ_REMOVE(&handed_wishes, wish, of_handed);
    wish->handed = false;
}

void spool_forget_busy(struct wish *wish)
{
    if (wish->busy_watch == -1)
        return;
    struct wish *other;
    wish->look_pause = 0;
    HASH_DELETE(hh_busy, busy_wishes, wish);
    HASH_FIND(hh_busy, busy_wishes, &wish->busy_watch, sizeof wish->busy_watch, other);
    if (other == NULL && wish->busy_watch != UNWATCHED)
        (void)inotify_rm_watch(inotify, wish->busy_watch);
    wish->busy_watch = -1;
}

static void watch_inode(struct wish *wish, const char *ending)
{
    char joined[NAME_MAX + 1], path[64];
    int fd = open_plain(wish->user->directory, file_name(joined, wish->name, ending), O_PATH);
    if (fd < 0 && errno == ENOENT)
        return; /* gone again: its event is on the way */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    wish->busy_watch = fd < 0 ? -1 : inotify_add_watch(inotify, path, IN_CLOSE_WRITE | IN_ATTRIB);
    if (wish->busy_watch < 0)
        wish->busy_watch = UNWATCHED;
    HASH_ADD(hh_busy, busy_wishes, busy_watch, sizeof wish->busy_watch, wish);
    if (fd >= 0)
        close(fd);
}

void spool_watch_busy(struct wish *wish, const char *ending, enum file_state state)
{
    if (wish->busy_watch == -1)
        watch_inode(wish, ending);
    bool for_ever = state == FILE_UNSEEN || wish->busy_watch == UNWATCHED;
    if (wish->look_pause == 0)
        wish->look_pause = first_look;
    else if (wish->look_pause > last_look && for_ever)
        wish->look_pause = last_look;
    wish->look_at = wish->look_pause > last_look ? INT64_MAX : monotonic_now() + wish->look_pause;
    wish->look_pause *= 2;
}

bool spool_watch_links(struct wish *wish)
{
    if (wish->busy_watch == -1) {
        watch_inode(wish, ".json");
        wish->look_at = wish->busy_watch == UNWATCHED ? monotonic_now() + last_look : INT64_MAX;
    }
    struct stamp now = spool_stamp(wish->user, wish->name, ".json");
    return stamp_equal(&now, &wish->judged) || wish->busy_watch < 0;
}

int64_t spool_busy_deadline(void)
{
    int64_t earliest = INT64_MAX;
    for (const struct wish *wish = busy_wishes; wish != NULL; wish = wish->hh_busy.next)
        if (wish->look_at < earliest)
            earliest = wish->look_at;
    return earliest;
}

struct wish *spool_busy_due(int64_t now)
{
    for (struct wish *wish = busy_wishes; wish != NULL; wish = wish->hh_busy.next)
        if (wish->look_at <= now)
            return wish;
    return NULL;
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

static const int64_t second = 1000000000; /* ns */

bool spool_put_verdict(const struct user *user, const char *name, const char *text, size_t length, int64_t decided)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = decided / second, .tv_nsec = decided == 0 ? UTIME_NOW : decided % second}};
    static unsigned serial;
    char joined[NAME_MAX + 1], staged[32];
    if (user->gone) {
        errno = ENOENT;
        return false;
    }
    snprintf(staged, sizeof staged, "%u", serial++);
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

bool spool_list_wishes(struct user *user, DIR *listing, int names, void (*each)(struct user *, const char *, bool))
{
    char name[256];
    const struct dirent *entry;
    while (names-- != 0) {
        errno = 0;
        if (user->gone || listing == NULL || (entry = readdir(listing)) == NULL)
            return false;
        if (strip_ending(entry->d_name, name) || strip(entry->d_name, ".verdict", name))
            each(user, name, false);
        else if (!is_silent(entry->d_name))
            each(user, entry->d_name, true);
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
