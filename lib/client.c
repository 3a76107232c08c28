#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "inotify-let-go.h"
#include "units.h"

enum { VERDICT_MAX = 1 << 20, FILE_NAME = NAME_MAX + 1 };

__attribute__((format(printf, 3, 4)))
static enum client_outcome fail(struct client *client, enum client_outcome outcome, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(client->why, sizeof client->why, format, values);
    va_end(values);
    return outcome;
}

static enum client_outcome fail_errno(struct client *client, const char *file)
{
    return fail(client, CLIENT_ERROR, "%s/%s: %s", client->spool, file, strerror(errno));
}

/* EACCES at a file of the spool nearly always means: not in the group. */
static enum client_outcome denied(struct client *client, const char *file)
{
    struct stat status;
    if (fstatat(client->root, file, &status, AT_SYMLINK_NOFOLLOW) < 0 || status.st_gid == getegid() ||
        group_member(status.st_gid))
        return fail(client, CLIENT_DENIED, "%s/%s: %s", client->spool, file, strerror(EACCES));
    char number[16];
    snprintf(number, sizeof number, "%u", status.st_gid);
    char buffer[4096];
    struct group record, *group = NULL;
    (void)getgrgid_r(status.st_gid, &record, buffer, sizeof buffer, &group);
    return fail(client, CLIENT_DENIED,
                "you are not in group %s, which may use %s (a new member must log in again)",
                group != NULL ? group->gr_name : number, client->spool);
}

bool client_name_ok(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@:-";
    size_t length = strspn(name, allowed);
    return length > 0 && length <= CLIENT_NAME_MAX && name[length] == '\0' && strchr(".@:-", name[0]) == NULL;
}

const char *client_take_time(const char *text, uint64_t *microseconds)
{
    static char sentence[120];
    uint64_t number;
    if (parse_time(text, microseconds))
        return NULL;
    if (parse_number(text, UINT64_MAX, &number))
        return "a time needs a unit (us, ms or s)";
    if (guess_time(text, 0, &number))
        snprintf(sentence, sizeof sentence, "a time is a whole number and a unit (us, ms or s), such as %lluus", (unsigned long long)number);
    else
        snprintf(sentence, sizeof sentence, "a time is a whole number and a unit (us, ms or s), 1us to 3600s");
    return sentence;
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
    /* O_PATH and not /dev/null: reads and writes fail as on the closed descriptor that we were given. The
     * lowest free number is what open returns, so this fills 0 to 2 and gives back the first above. */
    int fd;
    do {
        fd = open("/", O_PATH | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

enum client_outcome client_open(struct client *client, const char *spool)
{
    *client = (struct client){.spool = spool, .root = -1, .specs = -1, .alive = -1, .directory = -1, .events = -1};
    client->root = open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (client->root >= 0)
        client->specs = openat(client->root, "specs", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (client->specs >= 0)
        return CLIENT_OK;
    if (errno == ENOENT)
        return fail(client, CLIENT_NO_BROKER, "no broker has made a spool at %s", spool);
    return fail(client, CLIENT_ERROR, "%s: %s", spool, strerror(errno));
}

static int open_fifo(const struct client *client, const char *name)
{
    return openat(client->root, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
}

static enum client_outcome take_hold(struct client *client)
{
    int fd = open_fifo(client, "alive");
    if (fd < 0 && errno == EACCES)
        return denied(client, "alive");
    if (fd < 0 && (errno == ENXIO || errno == ENOENT))
        return fail(client, CLIENT_NO_BROKER, "no broker is running on %s", client->spool);
    if (fd < 0)
        return fail_errno(client, "alive");
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode)) {
        close(fd);
        return fail(client, CLIENT_ERROR, "%s/alive is not a FIFO", client->spool);
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
    return microseconds == 0 ? 0 : (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + (int64_t)microseconds;
}

/* -1 with errno; or, for 0, without anything that would end. */
static int start_timer(int64_t until)
{
    struct itimerspec timer = {.it_value = {.tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &timer, NULL);
    return fd;
}

/* It hangs up when its broker serves, or has ended: then CLIENT_NO_BROKER is to be looked into again. */
static enum client_outcome await_start(struct client *client, int starting, int timer)
{
    struct pollfd fds[] = {{.fd = starting}, {.fd = timer, .events = POLLIN}};
    if (poll(fds, sizeof fds / sizeof *fds, -1) < 0 && errno != EINTR)
        return fail(client, CLIENT_ERROR, "poll: %s", strerror(errno));
    return fds[1].revents != 0 ? fail(client, CLIENT_TIMEOUT, "the broker on %s is still starting", client->spool) : CLIENT_NO_BROKER;
}

enum client_outcome client_connect(struct client *client, int64_t until)
{
    enum client_outcome outcome = take_hold(client);
    int timer = outcome == CLIENT_NO_BROKER ? start_timer(until) : -1, starting = 0;
    while (outcome == CLIENT_NO_BROKER && starting >= 0) {
        starting = open_fifo(client, "starting");
        outcome = take_hold(client); /* after it has been seen whether it is starting */
        if (outcome == CLIENT_NO_BROKER && starting >= 0)
            outcome = await_start(client, starting, timer);
        if (starting >= 0)
            close(starting);
    }
    if (timer >= 0)
        close(timer);
    return outcome;
}

/* Account names may hold more than spec names (DOMAIN\user), but nothing that leads elsewhere. */
static bool user_ok(const char *user)
{
    size_t length = strlen(user);
    return length > 0 && length <= NAME_MAX && user[0] != '.' && strchr(user, '/') == NULL;
}

/* False with errno when there is no such directory, or EPERM when it is somebody else's. */
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
    snprintf(client->user, sizeof client->user, "%s", user);
    return true;
}

enum client_outcome client_enter(struct client *client, bool create)
{
    char decimal[16];
    snprintf(decimal, sizeof decimal, "%u", geteuid());
    const char *user = getenv("USER");
    if (user != NULL && user_ok(user) && open_own(client, user))
        return CLIENT_OK;
    if (open_own(client, decimal))
        return CLIENT_OK;

    /* Only now, as the account database may be far away and slow. */
    char buffer[4096];
    struct passwd record, *account = NULL;
    (void)getpwuid_r(geteuid(), &record, buffer, sizeof buffer, &account);
    user = account != NULL && user_ok(account->pw_name) ? account->pw_name : decimal;
    bool there = !create || mkdirat(client->specs, user, 0700) == 0 || errno == EEXIST;
    if (there && open_own(client, user))
        return CLIENT_OK;
    if (errno == EACCES)
        return denied(client, "specs");
    if (errno == ENOENT)
        return fail(client, CLIENT_GONE, "there is no directory %s/specs/%s", client->spool, user);
    if (errno == EPERM)
        return fail(client, CLIENT_ERROR, "%s/specs/%s belongs to somebody else", client->spool, user);
    return fail(client, CLIENT_ERROR, "%s/specs/%s: %s", client->spool, user, strerror(errno));
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

/* Ends with it closed: the broker reads a spec once no writer has it open. */
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

static int reopen(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_PATH | O_CLOEXEC);
}

/* It has no name until it is complete: its making is no event, for which the broker would have to be woken, and who is killed over
 * it leaves nothing behind. Not every file system can do that, and it needs /proc. */
static bool put_unnamed(int directory, const char *file, const char *text, ino_t *inode)
{
    char path[32];
    int fd = openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    int held = reopen(fd);
    bool filled = fill(fd, text, inode);
    if (held < 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", held);
    bool put = filled && linkat(AT_FDCWD, path, directory, file, AT_SYMLINK_FOLLOW) == 0;
    int reason = errno;
    close(held);
    errno = reason;
    return put;
}

static bool put_renamed(int directory, const char *aside, const char *file, unsigned flags, const char *text, ino_t *inode)
{
    int fd = openat(directory, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (fill(fd, text, inode) && renameat2(directory, aside, directory, file, flags) == 0)
        return true;
    int reason = errno;
    unlinkat(directory, aside, 0);
    errno = reason;
    return false;
}

enum client_outcome client_put(struct client *client, const char *name, const char *text, ino_t *inode)
{
    char file[FILE_NAME], aside[FILE_NAME], token[CLIENT_TOKEN];
    snprintf(file, sizeof file, "%s.json", name);
    if (put_unnamed(client->directory, file, text, inode))
        return CLIENT_OK;
    if (errno != EEXIST) {
        if (!client_make_token(token))
            return fail(client, CLIENT_ERROR, "no random numbers: %s", strerror(errno));
        /* A name of our own: what a killed client left behind must not stop the next one. */
        snprintf(aside, sizeof aside, ".%s.json.%s", name, token);
        if (put_renamed(client->directory, aside, file, RENAME_NOREPLACE, text, inode))
            return CLIENT_OK;
    }
    if (errno == EEXIST)
        return fail(client, CLIENT_TAKEN, "%s/specs/%s/%s exists", client->spool, client->user, file);
    return fail(client, CLIENT_ERROR, "%s/specs/%s/%s: %s", client->spool, client->user, file, strerror(errno));
}

/* What NAME.SUFFIX is, links not followed. */
static bool entry(const struct client *client, const char *name, const char *suffix, struct stat *status)
{
    char file[FILE_NAME];
    snprintf(file, sizeof file, "%s.%s", name, suffix);
    return fstatat(client->directory, file, status, AT_SYMLINK_NOFOLLOW) == 0;
}

enum client_outcome client_change(struct client *client, const char *name, const char *text, ino_t *inode)
{
    char file[FILE_NAME], aside[FILE_NAME], token[CLIENT_TOKEN];
    struct stat status;
    if (!entry(client, name, "json", &status) || status.st_ino != *inode)
        return fail(client, CLIENT_GONE, "the spec %s was removed or replaced", name);
    if (!client_make_token(token))
        return fail(client, CLIENT_ERROR, "no random numbers: %s", strerror(errno));
    snprintf(file, sizeof file, "%s.json", name);
    snprintf(aside, sizeof aside, ".%s.json.%s", name, token);
    if (put_renamed(client->directory, aside, file, 0, text, inode))
        return CLIENT_OK;
    return fail(client, CLIENT_ERROR, "%s/specs/%s/%s: %s", client->spool, client->user, file, strerror(errno));
}

enum client_outcome client_attach(struct client *client, const char *name, pid_t thread)
{
    char file[FILE_NAME], aside[FILE_NAME], token[CLIENT_TOKEN], text[16];
    ino_t inode;
    if (!client_make_token(token))
        return fail(client, CLIENT_ERROR, "no random numbers: %s", strerror(errno));
    snprintf(file, sizeof file, "%s.tid", name);
    snprintf(aside, sizeof aside, ".%s.tid.%s", name, token);
    snprintf(text, sizeof text, "%d\n", (int)thread);
    if (put_renamed(client->directory, aside, file, 0, text, &inode))
        return CLIENT_OK;
    return fail(client, CLIENT_ERROR, "%s/specs/%s/%s: %s", client->spool, client->user, file, strerror(errno));
}

static enum client_outcome remove_file(struct client *client, const char *name, const char *suffix)
{
    char file[FILE_NAME];
    snprintf(file, sizeof file, "%s.%s", name, suffix);
    if (unlinkat(client->directory, file, 0) == 0)
        return CLIENT_OK;
    return fail(client, errno == ENOENT ? CLIENT_GONE : CLIENT_ERROR, "%s/specs/%s/%s: %s", client->spool, client->user, file, strerror(errno));
}

enum client_outcome client_detach(struct client *client, const char *name)
{
    return remove_file(client, name, "tid");
}

ino_t client_inode(const struct client *client, const char *name)
{
    struct stat status;
    return entry(client, name, "json", &status) ? status.st_ino : 0;
}

enum client_outcome client_remove(struct client *client, const char *name, ino_t inode)
{
    if (client_inode(client, name) != inode)
        return fail(client, CLIENT_GONE, "the spec %s was removed or replaced", name);
    return remove_file(client, name, "json");
}

void client_withdraw(const struct client *client, const char *name, ino_t inode)
{
    char file[FILE_NAME];
    struct stat status;
    if (!entry(client, name, "json", &status) || status.st_ino != inode)
        return;
    /* The answer first: while our spec is there, nobody else's answer can bear this name. */
    snprintf(file, sizeof file, "%s.verdict", name);
    unlinkat(client->directory, file, 0);
    snprintf(file, sizeof file, "%s.json", name);
    unlinkat(client->directory, file, 0);
}

/* The whole file with a final zero byte; NULL if there is none or it cannot be an answer. */
static char *read_text(int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > VERDICT_MAX)
        return NULL;
    size_t length = 0, size = (size_t)status.st_size;
    char *text = malloc(size + 1);
    while (text != NULL && length < size) {
        ssize_t got = read(fd, text + length, size - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    if (text != NULL)
        text[length] = '\0';
    return text;
}

/* A lease or a FIFO makes nobody wait. */
json_t *client_read_object(int directory, const char *file, char **text)
{
    int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *whole = read_text(fd);
    json_t *object = whole == NULL ? NULL : json_loads(whole, 0, NULL);
    close(fd);
    if (json_is_object(object) && text != NULL) {
        *text = whole;
        return object;
    }
    free(whole);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

static bool read_verdict(const struct client *client, const char *name, struct client_verdict *verdict)
{
    char file[FILE_NAME];
    *verdict = (struct client_verdict){0};
    snprintf(file, sizeof file, "%s.verdict", name);
    verdict->json = client_read_object(client->directory, file, &verdict->text);
    return verdict->json != NULL;
}

const char *client_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

enum client_outcome client_find_abandoned(struct client *client, const char *name, ino_t *inode)
{
    struct stat spec;
    struct client_verdict verdict;
    if (!entry(client, name, "json", &spec))
        return fail(client, CLIENT_GONE, "there is no spec %s in %s/specs/%s", name, client->spool, client->user);
    *inode = spec.st_ino;
    if (!read_verdict(client, name, &verdict))
        return fail(client, CLIENT_TAKEN, "%s/specs/%s/%s.json has no answer yet", client->spool, client->user, name);
    const pid_t thread = (pid_t)json_integer_value(json_object_get(json_object_get(verdict.json, "thread"), "tid"));
    client_free_verdict(&verdict);
    if (thread > 0 && (kill(thread, 0) == 0 || errno != ESRCH))
        return fail(client, CLIENT_TAKEN, "%s/specs/%s/%s.json exists, and thread %d runs under it", client->spool, client->user, name, thread);
    return CLIENT_OK;
}

void client_renew(const struct client *client, const char *name, ino_t inode)
{
    char file[FILE_NAME];
    struct stat status;
    snprintf(file, sizeof file, "%s.json", name);
    if (entry(client, name, "json", &status) && status.st_ino == inode)
        (void)utimensat(client->directory, file, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Inode and change time: a file that was replaced or rewritten since has another stamp. */
static bool stamped(const json_t *stamp, const struct stat *status)
{
    const struct timespec *time = &status->st_ctim;
    char changed[40];
    const char *text = client_string(stamp, "changed");
    snprintf(changed, sizeof changed, "%lld.%09ld", (long long)time->tv_sec, time->tv_nsec);
    return text != NULL && strcmp(text, changed) == 0 &&
           json_integer_value(json_object_get(stamp, "inode")) == (json_int_t)status->st_ino;
}

/* Without a NAME.tid the answer must have seen none either, or have seen it go. */
static bool answers_no_tid(const json_t *json)
{
    const json_t *stamp = json_object_get(json, "tid");
    const char *request = client_string(json, "request");
    return stamp == NULL || json_is_null(stamp) ||
           (request != NULL && (strcmp(request, "detach") == 0 || strcmp(request, "exit") == 0));
}

/* Whether it has seen the files just as they are now; NULL: not there. */
static bool answers(const json_t *json, const struct stat *spec, const struct stat *tid)
{
    const json_t *stamp = json_object_get(json, "spec");
    if (spec == NULL && tid == NULL)
        return false;
    if (spec != NULL ? !stamped(stamp, spec) : stamp != NULL && !json_is_null(stamp))
        return false;
    return tid != NULL ? stamped(json_object_get(json, "tid"), tid) : answers_no_tid(json);
}

/* The files as they are, looked at only if somebody asks, and then once. */
struct files {
    bool seen, has_spec, has_tid;
    struct stat spec, tid;
};

static void see(const struct client *client, const char *name, struct files *files)
{
    if (files->seen)
        return;
    files->has_spec = entry(client, name, "json", &files->spec);
    files->has_tid = entry(client, name, "tid", &files->tid);
    files->seen = true;
}

/* What the broker could not read it answers without a token: then, too, the stamps tell. */
static bool wanted(const struct client *client, const struct client_wait *wait, const json_t *json, struct files *files)
{
    const char *token = client_string(json, "token");
    const char *result = client_string(json, "result");
    if (wait->token != NULL && token != NULL)
        return strcmp(token, wait->token) == 0;
    if (wait->token != NULL && (result == NULL || strcmp(result, "BAD_SPEC") != 0))
        return false;
    see(client, wait->name, files);
    return answers(json, files->has_spec ? &files->spec : NULL, files->has_tid ? &files->tid : NULL);
}

static bool is_pending(const json_t *json)
{
    const char *state = client_string(json_object_get(json, "thread"), "state");
    return state != NULL && strcmp(state, "pending") == 0;
}

/* It has been refused for now, and is asked again. */
static bool is_waiting(struct client *client, const json_t *json)
{
    const char *result = client_string(json, "result"), *reason = client_string(json, "reason");
    if (result == NULL || strcmp(result, "WAITING") != 0)
        return false;
    snprintf(client->waits_for, sizeof client->waits_for, "; it waits: %.400s", reason == NULL ? "?" : reason);
    return true;
}

/* The broker moves a directory aside that it does not accept: nothing in it will be answered. */
bool client_has_moved(const struct client *client)
{
    struct stat named, ours;
    return fstatat(client->specs, client->user, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
           fstat(client->directory, &ours) < 0 || named.st_ino != ours.st_ino;
}

/* Whether this verdict, which answers the files as they are, ends the wait. */
static bool is_enough(const struct client_wait *wait, const json_t *json)
{
    switch (wait->goal) {
    case CLIENT_ANSWER: return !(wait->attached && is_pending(json));
    case CLIENT_GRANT: return json_is_object(json_object_get(json, "grant"));
    case CLIENT_END: break;
    }
    return false;
}

enum client_outcome client_look(struct client *client, const struct client_wait *wait, struct client_verdict *verdict)
{
    struct files files = {.seen = false};
    bool has_verdict = read_verdict(client, wait->name, verdict);
    if (has_verdict && wanted(client, wait, verdict->json, &files) && !(is_waiting(client, verdict->json) && wait->goal == CLIENT_ANSWER) &&
        is_enough(wait, verdict->json))
        return CLIENT_OK;
    client_free_verdict(verdict);
    see(client, wait->name, &files);
    if (wait->goal == CLIENT_END)
        return files.has_spec || files.has_tid || (has_verdict && !client_has_moved(client)) ? CLIENT_PENDING : CLIENT_OK;
    if (client_has_moved(client))
        return fail(client, CLIENT_GONE, "the broker has not accepted the directory %s/specs/%s", client->spool,
                    client->user);
    if (wait->inode != 0 && (!files.has_spec || files.spec.st_ino != wait->inode))
        return fail(client, CLIENT_GONE, "the spec %s was removed or replaced", wait->name);
    if (!files.has_spec && !files.has_tid)
        return fail(client, CLIENT_GONE, "there is no spec %s in %s/specs/%s", wait->name, client->spool,
                    client->user);
    return CLIENT_PENDING;
}

static void drain(int fd)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    while (read(fd, events, sizeof events) > 0)
        ;
}

/* What one wait looks at: watches on an inotify instance, which may be another's. */
struct sight {
    int events, directory, spec; /* -1: none */
    bool of_self; /* the directory is watched for its own end alone */
};

static void stop_watch(const struct client *client, const struct sight *sight)
{
    if (sight->events >= 0 && sight->events != client->events) {
        inotify_let_go(sight->events);
        return;
    }
    if (sight->directory >= 0 && !sight->of_self) /* what hardly ever happens may be heard until the next wait, which needs it again */
        inotify_rm_watch(sight->events, sight->directory);
    if (sight->spec >= 0)
        inotify_rm_watch(sight->events, sight->spec);
}

/* One spec is watched through its own inode: the broker closes it once the answer is in place, and no other
 * spec of this user wakes us. Several files are watched through the directory. */
static bool start_watch(struct client *client, const struct client_wait *wait, struct sight *sight)
{
    const uint32_t self = IN_ONLYDIR | IN_DELETE_SELF | IN_MOVE_SELF;
    const uint32_t all = self | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
    char path[PATH_MAX];
    *sight = (struct sight){.events = client->events, .directory = -1, .spec = -1, .of_self = wait->inode != 0};
    if (sight->events >= 0)
        drain(sight->events); /* that the last wait's watch has gone is an event, too */
    else if ((sight->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) < 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", client->directory);
    sight->directory = inotify_add_watch(sight->events, path, wait->inode != 0 ? self : all);
    if (sight->directory >= 0 && wait->inode != 0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d/%s.json", client->directory, wait->name);
        const uint32_t mask = IN_DONT_FOLLOW | IN_CLOSE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
        sight->spec = inotify_add_watch(sight->events, path, mask);
    }
    if (sight->directory >= 0 && (wait->inode == 0 || sight->spec >= 0))
        return true;
    int reason = errno;
    stop_watch(client, sight);
    errno = reason;
    return false;
}

/* NULL: for ever. */
static const struct timespec *time_left(int64_t until, struct timespec *left)
{
    struct timespec now;
    if (until == 0)
        return NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t us = until - ((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    *left = us <= 0 ? (struct timespec){0} : (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    return left;
}

/* What has not come true when the time is over. */
static enum client_outcome no_answer(struct client *client, const struct client_wait *wait)
{
    static const char *const over[] = {[CLIENT_ANSWER] = "no answer to %s within the time allowed%s",
                                       [CLIENT_GRANT] = "%s has not been granted within the time allowed%s",
                                       [CLIENT_END] = "%s has not ended within the time allowed%s"};
    return fail(client, CLIENT_TIMEOUT, over[wait->goal], wait->name, client->waits_for);
}

/* Sleeps. CLIENT_PENDING: look again, something happened; anything else: look for the last time. */
static enum client_outcome doze(struct client *client, const struct client_wait *wait, int events)
{
    struct pollfd fds[] = {{.fd = events, .events = POLLIN}, {.fd = client->alive}, {.fd = wait->interrupt, .events = POLLIN}};
    struct timespec left;
    const int ready = ppoll(fds, sizeof fds / sizeof *fds, time_left(wait->until, &left), NULL);
    if (ready < 0)
        return errno == EINTR ? CLIENT_PENDING : fail(client, CLIENT_ERROR, "poll: %s", strerror(errno));
    drain(events);
    if (fds[2].revents != 0)
        return fail(client, CLIENT_INTERRUPTED, "interrupted");
    if (fds[1].revents != 0)
        return fail(client, CLIENT_NO_BROKER, "the broker on %s ended before it answered", client->spool);
    /* Who hears of something all the time has no more of it than others. */
    return time_left(wait->until, &left) != NULL && left.tv_sec == 0 && left.tv_nsec == 0 ? no_answer(client, wait) : CLIENT_PENDING;
}

/* The watches are set, so an answer that comes between a look and the sleep after it ends that sleep. */
static enum client_outcome watch(struct client *client, const struct client_wait *wait, int events, struct client_verdict *verdict)
{
    enum client_outcome end = CLIENT_PENDING;
    for (;;) {
        enum client_outcome seen = client_look(client, wait, verdict);
        if (seen != CLIENT_PENDING)
            return seen;
        if (end == CLIENT_TIMEOUT) /* by now it may have been said what it waits for */
            return no_answer(client, wait);
        if (end != CLIENT_PENDING)
            return end;
        end = doze(client, wait, events);
        if (end == CLIENT_INTERRUPTED)
            return end;
    }
}

/* A broker on the same CPU, which runs above us, may have answered already. */
enum client_outcome client_wait(struct client *client, const struct client_wait *wait, struct client_verdict *verdict)
{
    struct stat status;
    struct sight sight;
    enum client_outcome outcome = entry(client, wait->name, "verdict", &status) ? client_look(client, wait, verdict) : CLIENT_PENDING;
    if (outcome != CLIENT_PENDING)
        return outcome;
    if (start_watch(client, wait, &sight)) {
        outcome = watch(client, wait, sight.events, verdict);
        stop_watch(client, &sight);
        return outcome;
    }
    const int reason = errno;
    outcome = client_look(client, wait, verdict); /* what is gone cannot be watched */
    return outcome != CLIENT_PENDING ? outcome : fail(client, CLIENT_ERROR, "cannot wait for %s: %s", wait->name, strerror(reason));
}

void client_free_verdict(struct client_verdict *verdict)
{
    json_decref(verdict->json);
    free(verdict->text);
    *verdict = (struct client_verdict){0};
}

void client_close(struct client *client)
{
    int *fds[] = {&client->root, &client->specs, &client->alive, &client->directory};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
