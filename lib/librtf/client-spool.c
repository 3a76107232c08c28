#include "client-own.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "units.h"

enum client_outcome client_fail(struct client *client, enum client_outcome outcome,
                                const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(client->why, sizeof client->why, format, values);
    va_end(values);
    return outcome;
}

static enum client_outcome fail_errno(struct client *client, const char *file)
{
    return client_fail(client, CLIENT_ERROR, "%s/%s: %s", client->spool, file, strerror(errno));
}

/* Says why the user cannot reach the file. The sentence names the group of the spool, because
 * EACCES nearly always means that the user is not a member of this group. */
enum client_outcome client_denied(struct client *client, const char *file)
{
    struct stat status;
    if (fstatat(client->root, file, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
        status.st_gid == getegid() || group_member(status.st_gid))
        return client_fail(client, CLIENT_DENIED, "%s/%s: %s (rtf doctor says why)", client->spool,
                           file, strerror(EACCES));
    char number[16];
    snprintf(number, sizeof number, "%u", status.st_gid);
    char buffer[4096];
    struct group record, *group = NULL;
    (void)getgrgid_r(status.st_gid, &record, buffer, sizeof buffer, &group);
    return client_fail(client, CLIENT_DENIED,
                       "you are not in group %s, which may use %s (a new member must log in again)",
                       group != NULL ? group->gr_name : number, client->spool);
}

bool client_name_ok(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@:-";
    size_t length = strspn(name, allowed);
    return length > 0 && length <= CLIENT_NAME_MAX && name[length] == '\0' &&
           strchr(".@:-", name[0]) == NULL;
}

static const char *wrong_time(const char *text, const char *longest)
{
    static char sentence[120];
    uint64_t number;
    if (parse_number(text, UINT64_MAX, &number))
        return "a time needs a unit (" TIME_UNITS ")";
    if (guess_time(text, 0, &number))
        snprintf(sentence, sizeof sentence,
                 "a time must be a whole number and a unit (" TIME_UNITS "), such as %lluus",
                 (unsigned long long)number);
    else
        snprintf(sentence, sizeof sentence,
                 "a time must be a whole number and a unit (" TIME_UNITS "), 1us to %s", longest);
    return sentence;
}

const char *client_take_time(const char *text, uint64_t *microseconds)
{
    return parse_time(text, microseconds) ? NULL : wrong_time(text, "1h");
}

const char *client_take_wait(const char *text, uint64_t *microseconds)
{
    return parse_wait(text, microseconds) ? NULL : wrong_time(text, "366d");
}

bool client_make_token(char token[static CLIENT_TOKEN])
{
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return false;
    snprintf(token, CLIENT_TOKEN, "%016llx", (unsigned long long)number);
    return true;
}

void client_hold_standard_fds(void)
{
    /* opens with O_PATH, and not /dev/null, so that reads and writes fail as they do on a closed
     * descriptor. open returns the lowest free number, so the loop fills 0 to 2, and closes the
     * first number above 2. */
    int fd;
    do {
        fd = open("/", O_PATH | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

enum client_outcome client_open(struct client *client, const char *spool)
{
    char starter[CLIENT_WHY];
    *client = (struct client){.spool = spool,
                              .root = -1,
                              .descriptors = -1,
                              .specs = -1,
                              .alive = -1,
                              .directory = -1,
                              .watch = {.events = -1, .directory = -1, .spec = -1}};
    client->descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    client->root = open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (client->root >= 0)
        client->specs =
            openat(client->root, "specs", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (client->specs >= 0)
        return CLIENT_OK;
    if (errno == ENOENT)
        return client_fail(client, CLIENT_NO_BROKER,
                           "no broker has made a spool at %.200s ('%.200s', as root, makes it)",
                           spool, client_starter(spool, starter));
    if (errno == EACCES)
        return client_fail(client, CLIENT_DENIED, "%s: %s (rtf doctor says why)", spool,
                           strerror(EACCES));
    return client_fail(client, CLIENT_ERROR, "%s: %s", spool, strerror(errno));
}

static int open_fifo(const struct client *client, const char *name)
{
    return openat(client->root, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
}

static enum client_outcome no_broker(struct client *client)
{
    (void)client_tell_no_broker(client->spool, client->why);
    return CLIENT_NO_BROKER;
}

static enum client_outcome take_hold(struct client *client)
{
    int fd = open_fifo(client, "alive");
    if (fd < 0 && errno == EACCES)
        return client_denied(client, "alive");
    if (fd < 0 && (errno == ENXIO || errno == ENOENT))
        return no_broker(client);
    if (fd < 0)
        return fail_errno(client, "alive");
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode)) {
        close(fd);
        return client_fail(client, CLIENT_ERROR, "%s/alive is not a FIFO", client->spool);
    }
    if (client->alive >= 0)
        close(client->alive);
    client->alive = fd;
    return CLIENT_OK;
}

int64_t client_until(uint64_t microseconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return microseconds == 0
               ? 0
               : (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + (int64_t)microseconds;
}

/* Returns a timer that ends at `until`; if `until` is 0, the timer never ends. -1: errno says
 * why. */
static int start_timer(int64_t until)
{
    struct itimerspec timer = {
        .it_value = {.tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &timer, NULL);
    return fd;
}

/* Waits until the broker closes the FIFO `starting`. The broker closes it when it serves requests,
 * or ends. CLIENT_NO_BROKER: the FIFO is closed, and the caller has to look for a broker again. */
static enum client_outcome await_start(struct client *client, int starting, int timer)
{
    struct pollfd fds[] = {{.fd = starting}, {.fd = timer, .events = POLLIN}};
    if (poll(fds, sizeof fds / sizeof *fds, -1) < 0 && errno != EINTR)
        return client_fail(client, CLIENT_ERROR, "poll: %s", strerror(errno));
    return fds[1].revents != 0 ? client_fail(client, CLIENT_TIMEOUT,
                                             "the broker on %s is still starting", client->spool)
                               : CLIENT_NO_BROKER;
}

enum client_outcome client_connect(struct client *client, int64_t until)
{
    enum client_outcome outcome = take_hold(client);
    int timer = outcome == CLIENT_NO_BROKER ? start_timer(until) : -1, starting = 0;
    while (outcome == CLIENT_NO_BROKER && starting >= 0) {
        starting = open_fifo(client, "starting");
        /* looks for a broker after opening `starting`, so that it finds a broker that has just
         * finished starting */
        outcome = take_hold(client);
        if (outcome == CLIENT_NO_BROKER && starting >= 0)
            outcome = await_start(client, starting, timer);
        if (starting >= 0)
            close(starting);
    }
    if (timer >= 0)
        close(timer);
    return outcome;
}

/* True if the name of an account may be the name of a directory. Such a name may have more
 * characters than the name of a spec (DOMAIN\user), but no '/' and no leading '.', because these
 * lead to other directories. */
static bool user_ok(const char *user)
{
    size_t length = strlen(user);
    return length > 0 && length <= NAME_MAX && user[0] != '.' && strchr(user, '/') == NULL;
}

/* Opens the directory specs/USER. False: errno says why; ENOENT: there is no such directory; EPERM:
 * the directory belongs to another user. */
static bool open_own(struct client *client, const char *user)
{
    struct stat status;
    int fd = openat(client->specs, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &status) < 0 || status.st_uid != geteuid()) {
        close(fd);
        errno = EPERM;
        return false;
    }
    client->directory = fd;
    client->inode = status.st_ino;
    snprintf(client->user, sizeof client->user, "%s", user);
    return true;
}

/* Returns the uid that the caller has outside of its user namespace. The broker knows the user by
 * this uid. */
static uid_t uid_outside(void)
{
    unsigned inside, outside, count;
    uid_t uid = geteuid();
    FILE *map = fopen("/proc/self/uid_map", "re");
    while (map != NULL && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
        if (geteuid() >= inside && geteuid() - inside < count)
            uid = geteuid() - inside + outside;
    if (map != NULL)
        (void)fclose(map);
    return uid;
}

enum client_outcome client_enter(struct client *client, bool create)
{
    char decimal[16];
    const char *user = getenv("USER");
    if (user != NULL && user_ok(user) && open_own(client, user))
        return CLIENT_OK;
    const uid_t uid = uid_outside();
    snprintf(decimal, sizeof decimal, "%u", uid);
    if (open_own(client, decimal))
        return CLIENT_OK;

    /* The account's name is tried last, because the account database may be remote and slow. */
    char buffer[4096];
    struct passwd record, *account = NULL;
    (void)getpwuid_r(uid, &record, buffer, sizeof buffer, &account);
    user = account != NULL && user_ok(account->pw_name) ? account->pw_name : decimal;
    bool there = !create || mkdirat(client->specs, user, 0700) == 0 || errno == EEXIST;
    if (there && open_own(client, user))
        return CLIENT_OK;
    if (errno == EACCES)
        return client_denied(client, "specs");
    if (errno == ENOENT)
        return client_fail(client, CLIENT_GONE, "there is no directory %s/specs/%s", client->spool,
                           user);
    if (errno == EPERM)
        return client_fail(client, CLIENT_ERROR, "%s/specs/%s belongs to another user",
                           client->spool, user);
    return client_fail(client, CLIENT_ERROR, "%s/specs/%s: %s", client->spool, user,
                       strerror(errno));
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

/* Writes the text, and closes fd in any case, because the broker reads a spec only after the last
 * writer has closed the file. */
static bool fill(int fd, const char *text, ino_t *inode)
{
    struct stat status;
    bool filled = write_all(fd, text, strlen(text)) && fstat(fd, &status) == 0;
    int reason = errno;
    if (close(fd) < 0 && filled) {
        filled = false;
        reason = errno;
    }
    if (filled)
        *inode = status.st_ino;
    errno = reason;
    return filled;
}

/* Returns a second descriptor of the file, which is not open for writing. With this descriptor the
 * file can be linked after its writer has closed it. open_tree(2) takes half the time of a path in
 * /proc, but a container may forbid open_tree. */
static int hold(const struct client *client, int fd)
{
    char name[16];
    const int held = open_tree(fd, "", OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (held >= 0)
        return held;
    snprintf(name, sizeof name, "%d", fd);
    return openat(client->descriptors, name, O_PATH | O_CLOEXEC);
}

/* Writes the text to a file without a name, then links it. An unfinished file causes no event for
 * the broker, and a killed client leaves no file behind. The function fails on file systems without
 * O_TMPFILE. It may also need /proc for the link. */
static bool put_unnamed(const struct client *client, const char *file, const char *text,
                        ino_t *inode)
{
    char name[16];
    int fd = client->descriptors < 0
                 ? -1
                 : openat(client->directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    int held = hold(client, fd);
    bool filled = fill(fd, text, inode);
    if (held < 0)
        return false;
    bool put = filled && linkat(held, "", client->directory, file, AT_EMPTY_PATH) == 0;
    /* before Linux 6.10, AT_EMPTY_PATH needs a capability, so the file is linked through /proc */
    if (filled && !put && errno == ENOENT) {
        snprintf(name, sizeof name, "%d", held);
        put = linkat(client->descriptors, name, client->directory, file, AT_SYMLINK_FOLLOW) == 0;
    }
    int reason = errno;
    close(held);
    errno = reason;
    return put;
}

/* Writes a temporary file and renames it to `file`. modified: the modification time that the file
 * gets; NULL: the present time. */
static bool put_renamed(int directory, const char *aside, const char *file, unsigned flags,
                        const char *text, const struct timespec *modified, ino_t *inode)
{
    int fd = openat(directory, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool filled = fill(fd, text, inode);
    if (filled && modified != NULL)
        filled = utimensat(directory, aside, (const struct timespec[]){*modified, *modified},
                           AT_SYMLINK_NOFOLLOW) == 0;
    if (filled && renameat2(directory, aside, directory, file, flags) == 0)
        return true;
    int reason = errno;
    unlinkat(directory, aside, 0);
    errno = reason;
    return false;
}

enum client_outcome client_put(struct client *client, const char *name, const char *text,
                               ino_t *inode)
{
    char file[FILE_NAME], aside[FILE_NAME], token[CLIENT_TOKEN];
    snprintf(file, sizeof file, "%s.json", name);
    if (put_unnamed(client, file, text, inode))
        return CLIENT_OK;
    if (errno != EEXIST) {
        if (!client_make_token(token))
            return client_fail(client, CLIENT_ERROR, "the kernel gives no random numbers: %s",
                               strerror(errno));
        /* The name is random, because a temporary file of a killed client must not stop this
         * client. */
        snprintf(aside, sizeof aside, ".%s.json.%s", name, token);
        if (put_renamed(client->directory, aside, file, RENAME_NOREPLACE, text, NULL, inode))
            return CLIENT_OK;
    }
    if (errno == EEXIST)
        return client_fail(client, CLIENT_TAKEN, "%s/specs/%s/%s exists", client->spool,
                           client->user, file);
    return client_fail(client, CLIENT_ERROR, "%s/specs/%s/%s: %s", client->spool, client->user,
                       file, strerror(errno));
}

bool client_entry(const struct client *client, const char *name, const char *suffix,
                  struct stat *status)
{
    char file[FILE_NAME];
    snprintf(file, sizeof file, "%s.%s", name, suffix);
    return fstatat(client->directory, file, status, AT_SYMLINK_NOFOLLOW) == 0;
}

enum client_outcome client_put_back(struct client *client, const char *name, const char *text,
                                    const struct timespec *modified, ino_t *inode)
{
    char file[FILE_NAME], aside[FILE_NAME], token[CLIENT_TOKEN];
    struct stat status;
    if (!client_entry(client, name, "json", &status) || status.st_ino != *inode)
        return client_fail(client, CLIENT_GONE, "the spec %s was removed or replaced", name);
    if (!client_make_token(token))
        return client_fail(client, CLIENT_ERROR, "the kernel gives no random numbers: %s",
                           strerror(errno));
    snprintf(file, sizeof file, "%s.json", name);
    snprintf(aside, sizeof aside, ".%s.json.%s", name, token);
    if (put_renamed(client->directory, aside, file, 0, text, modified, inode))
        return CLIENT_OK;
    return client_fail(client, CLIENT_ERROR, "%s/specs/%s/%s: %s", client->spool, client->user,
                       file, strerror(errno));
}

enum client_outcome client_change(struct client *client, const char *name, const char *text,
                                  ino_t *inode)
{
    return client_put_back(client, name, text, NULL, inode);
}

/* Writes NAME.tid. flags: the flags of renameat2(2), used if NAME.tid exists already. */
static enum client_outcome put_tid(struct client *client, const char *name, pid_t thread,
                                   unsigned flags)
{
    char file[FILE_NAME], aside[FILE_NAME], token[CLIENT_TOKEN], text[48];
    ino_t inode;
    const uint64_t of_pidfd = client_thread_inode(thread);
    if (!client_make_token(token))
        return client_fail(client, CLIENT_ERROR, "the kernel gives no random numbers: %s",
                           strerror(errno));
    snprintf(file, sizeof file, "%s.tid", name);
    snprintf(aside, sizeof aside, ".%s.tid.%s", name, token);
    if (of_pidfd == 0)
        snprintf(text, sizeof text, "%d\n", (int)thread);
    else
        snprintf(text, sizeof text, "%d inode=%llu\n", (int)thread, (unsigned long long)of_pidfd);
    if (put_unnamed(client, file, text, &inode)) /* succeeds if there was no NAME.tid */
        return CLIENT_OK;
    if (put_renamed(client->directory, aside, file, flags, text, NULL, &inode))
        return CLIENT_OK;
    return client_fail(client, errno == EEXIST ? CLIENT_TAKEN : CLIENT_ERROR, "%s/specs/%s/%s: %s",
                       client->spool, client->user, file, strerror(errno));
}

enum client_outcome client_attach(struct client *client, const char *name, pid_t thread)
{
    return put_tid(client, name, thread, 0);
}

/* Replaces an old NAME.tid only if the broker has refused it, or if its thread has ended. */
enum client_outcome client_take(struct client *client, const char *name, pid_t thread)
{
    enum client_outcome outcome = client_find_free(client, name, thread);
    if (outcome == CLIENT_OK)
        outcome = put_tid(client, name, thread, RENAME_NOREPLACE);
    if (outcome != CLIENT_TAKEN || client_find_free(client, name, thread) != CLIENT_OK)
        return outcome;
    return put_tid(client, name, thread, 0);
}

static enum client_outcome remove_file(struct client *client, const char *name, const char *suffix)
{
    char file[FILE_NAME];
    snprintf(file, sizeof file, "%s.%s", name, suffix);
    if (unlinkat(client->directory, file, 0) == 0)
        return CLIENT_OK;
    return client_fail(client, errno == ENOENT ? CLIENT_GONE : CLIENT_ERROR, "%s/specs/%s/%s: %s",
                       client->spool, client->user, file, strerror(errno));
}

enum client_outcome client_detach(struct client *client, const char *name)
{
    return remove_file(client, name, "tid");
}

ino_t client_inode(const struct client *client, const char *name)
{
    struct stat status;
    return client_entry(client, name, "json", &status) ? status.st_ino : 0;
}

enum client_outcome client_remove(struct client *client, const char *name, ino_t inode)
{
    if (client_inode(client, name) != inode)
        return client_fail(client, CLIENT_GONE, "the spec %s was removed or replaced", name);
    return remove_file(client, name, "json");
}

void client_withdraw(const struct client *client, const char *name, ino_t inode)
{
    char file[FILE_NAME];
    struct stat status;
    if (!client_entry(client, name, "json", &status) || status.st_ino != inode)
        return;
    /* The verdict is removed before the spec: as long as our spec exists, the verdict with this
     * name belongs to our spec. */
    snprintf(file, sizeof file, "%s.verdict", name);
    unlinkat(client->directory, file, 0);
    snprintf(file, sizeof file, "%s.json", name);
    unlinkat(client->directory, file, 0);
}

void client_renew(const struct client *client, const char *name, ino_t inode)
{
    char file[FILE_NAME];
    struct stat status;
    snprintf(file, sizeof file, "%s.json", name);
    if (client_entry(client, name, "json", &status) && status.st_ino == inode)
        (void)utimensat(client->directory, file, NULL, AT_SYMLINK_NOFOLLOW);
}

/* True if the user's directory has another name now. The broker renames a directory that it does
 * not accept, and never answers specs in this directory. */
bool client_has_moved(const struct client *client)
{
    struct stat named;
    return fstatat(client->specs, client->user, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
           named.st_ino != client->inode;
}

void client_close(struct client *client)
{
    int *fds[] = {&client->root, &client->descriptors, &client->specs, &client->alive,
                  &client->directory};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
