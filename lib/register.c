#include "register.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRY = 40, NUMBER = 16, TEXT = 2 * PATH_MAX + NUMBER, TRIES = 100, AT_ONCE = 10 };

static const char in_spool[] = "broker";
static char own[ENTRY]; /* the name of this broker's entry */

/* ---- an entry ---- */

static bool is_linked(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && status.st_nlink > 0;
}

static bool lock(int file, int how)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, how, &whole) == 0;
}

/* Opens and locks an entry. Tries again if register_tidy removes the file as stale between opening
 * and locking. */
static int take(int directory, const char *name)
{
    for (int tries = 0; tries < TRIES; tries++) {
        const int file =
            openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (file < 0 || (lock(file, F_SETLKW) && is_linked(file)))
            return file;
        close(file);
    }
    errno = EAGAIN;
    return -1;
}

static bool write_entry(int file, const char *text, size_t length)
{
    return file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, text, length, 0) == (ssize_t)length;
}

/* Reads the entry of a broker. False: the entry is not complete, for example because a broker that
 * has just started has written nothing yet. */
static bool read_entry(int file, struct registered *broker)
{
    char text[TEXT];
    const ssize_t length = pread(file, text, sizeof text, 0);
    if (length <= 0 || text[length - 1] != '\0')
        return false;
    const char *state = text, *spool = state + strlen(state) + 1,
               *config = spool < text + length ? spool + strlen(spool) + 1 : NULL;
    if (config == NULL || config >= text + length)
        return false;
    broker->state = atoi(state);
    return snprintf(broker->spool, sizeof broker->spool, "%s", spool) < (int)sizeof broker->spool &&
           snprintf(broker->config, sizeof broker->config, "%s", config) <
               (int)sizeof broker->config;
}

/* Finds the process that holds the lock. False: no process holds the lock. */
static bool get_holder(int file, pid_t *holder)
{
    struct flock found = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const bool held = fcntl(file, F_GETLK, &found) == 0 && found.l_type != F_UNLCK;
    *holder = held && found.l_pid > 0 ? found.l_pid : 0;
    return held;
}

static bool look_at(int directory, const char *name, struct registered *broker)
{
    const int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool found = file >= 0 && get_holder(file, &broker->process) && read_entry(file, broker);
    if (file >= 0)
        close(file);
    return found;
}

/* ---- all of them ---- */

static int open_register(void)
{
    return open(REGISTER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool each_name(int directory, bool (*each)(int directory, const char *name, void *with),
                      void *with)
{
    const struct dirent *entry;
    const int copy =
        directory < 0 ? -1 : openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = copy < 0 ? NULL : fdopendir(copy);
    bool good = true;
    while (all != NULL && good && (entry = readdir(all)) != NULL)
        good = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
               each(directory, entry->d_name, with);
    if (all != NULL)
        closedir(all);
    return good;
}

/* True if no process holds the lock of the file. The lock of an entry is a POSIX lock; the lock of
 * a file of register_lock is a flock(2) lock. */
static bool is_nobodys(int file, const char *name)
{
    return name[0] == '.' ? flock(file, LOCK_EX | LOCK_NB) == 0 : lock(file, F_SETLK);
}

static bool sweep_one(int directory, const char *name, void *with)
{
    (void)with;
    const int file = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && is_nobodys(file, name) && is_linked(file))
        (void)unlinkat(directory, name, 0);
    if (file >= 0)
        close(file);
    return true;
}

void register_tidy(bool ours)
{
    if (access(RUN_DIRECTORY, F_OK) != 0)
        return;
    const int held = run_directory_hold(), directory = open_register();
    if (directory >= 0 && ours && own[0] != '\0')
        (void)unlinkat(directory, own, 0);
    (void)each_name(directory, sweep_one, NULL);
    if (directory >= 0)
        close(directory);
    (void)rmdir(REGISTER); /* fails if the directory is not empty */
    run_directory_leave(held);
}

struct visit {
    bool (*each)(const struct registered *broker, void *with);
    void *with;
};

static bool visit_one(int directory, const char *name, void *with)
{
    struct registered broker;
    const struct visit *visit = with;
    return !look_at(directory, name, &broker) || visit->each(&broker, visit->with);
}

bool register_each(bool (*each)(const struct registered *broker, void *with), void *with)
{
    struct visit visit = {each, with};
    const int directory = open_register();
    const bool good = each_name(directory, visit_one, &visit);
    if (directory >= 0)
        close(directory);
    return good;
}

/* ---- locks that only one broker may hold ---- */

static int take_lock(const char *name)
{
    const int directory = open_register(),
              file = directory < 0
                         ? -1
                         : openat(directory, name,
                                  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    int error = errno;
    const bool locked = file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
    if (file >= 0 && !locked)
        error = errno;
    if (directory >= 0)
        close(directory);
    if (locked && is_linked(file))
        return file;
    if (file >= 0)
        close(file);
    /* ENOENT: register_tidy has just removed the file, and the caller tries again */
    errno = locked ? ENOENT : error;
    return -1;
}

/* Takes the lock, and tries again if register_tidy has just removed the file. Does not make the
 * directory of the register, because a confined process cannot make it; register_lock makes the
 * directory if needed. */
static int take_lock_at_once(const char *name)
{
    int file = take_lock(name);
    for (int tries = 1; tries < AT_ONCE && file < 0 && errno == ENOENT; tries++)
        file = take_lock(name);
    return file;
}

int register_lock(const char *name)
{
    int file = take_lock_at_once(name);
    for (int tries = 0; tries < TRIES && file < 0 && errno == ENOENT; tries++) {
        const int held = run_directory_hold();
        file = held >= 0 && (mkdir(REGISTER, 0700) == 0 || errno == EEXIST) ? take_lock(name) : -1;
        const int error = errno;
        run_directory_leave(held);
        errno = error;
    }
    return file;
}

/* ---- this broker's entry ---- */

/* Makes this broker's entry. Makes the directory again if another program has just removed the
 * directory with its last entry. -1: errno says why. */
static int take_in_register(void)
{
    for (int tries = 0; tries < TRIES; tries++) {
        if (mkdir(REGISTER, 0700) != 0 && errno != EEXIST)
            return -1;
        const int directory = open_register();
        if (directory >= 0)
            (void)each_name(directory, sweep_one, NULL);
        const int file = directory < 0 ? -1 : take(directory, own), error = errno;
        if (directory >= 0)
            close(directory);
        errno = error;
        if (file >= 0 || errno != ENOENT)
            return file;
    }
    return -1;
}

static ssize_t path_of(int directory, char path[static PATH_MAX])
{
    char link[sizeof "/proc/self/fd/" + NUMBER];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length;
}

bool register_enter(int root, int lasting, int state, const char *config)
{
    char text[TEXT], spool[PATH_MAX], real[PATH_MAX];
    struct stat status;
    if (path_of(root, spool) <= 0 || fstat(root, &status) != 0)
        return false;
    snprintf(own, sizeof own, "%llx-%llx", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
    const int length = snprintf(text, sizeof text, "%d%c%s%c%s", state, '\0', spool, '\0',
                                realpath(config, real) == NULL ? config : real) +
                       1;
    if (length > (int)sizeof text)
        return errno = ENAMETOOLONG, false;
    const int held = run_directory_hold();
    const bool in_register = held >= 0 && write_entry(take_in_register(), text, (size_t)length);
    const int error = errno;
    run_directory_leave(held);
    const bool in_state = write_entry(take(lasting, in_spool), text, (size_t)length);
    if (in_state)
        errno = error;
    return in_state && in_register;
}

/* ---- look for one broker ---- */

static bool is_root_s(int directory)
{
    struct stat status;
    return fstat(directory, &status) == 0 && status.st_uid == 0 && (status.st_mode & 022) == 0;
}

bool register_find(const char *spool, struct registered *broker)
{
    const int root = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int lasting = root >= 0 && is_root_s(root)
                            ? openat(root, "state", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                            : -1;
    const bool found = lasting >= 0 && is_root_s(lasting) && look_at(lasting, in_spool, broker);
    if (lasting >= 0)
        close(lasting);
    if (root >= 0)
        close(root);
    return found;
}

static bool is_other(const struct registered *broker, void *with)
{
    const struct registered *sought = with;
    return broker->process != sought->process || strcmp(broker->spool, sought->spool) != 0;
}

bool register_is_there(const struct registered *broker)
{
    struct registered sought = *broker;
    return !register_each(is_other, &sought);
}
