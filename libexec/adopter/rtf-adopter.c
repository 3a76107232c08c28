/* rtf-adopter: looks after specs/ itself, in which each member of the group makes a directory: what comes and goes there, the modes of
 * those that were adopted, and what does not belong there.
 *
 * Looking a name up, renaming and the like can wait for whoever holds the lock of specs/ or of a directory in it, and any member can have it held
 * for long. Here only those wait who are new. No directory is ever removed in anybody's way: it may be what somebody has mounted a large file
 * system on, and rmdir(2) would end with taking that apart. One rule is for every name, also for one that begins with a dot: what is no directory of
 * a possible name is renamed out of the way.
 *
 * Standard input is a SOCK_SEQPACKET socket to the broker, descriptor 3 specs/. The broker says
 *
 *   op=scan                      tell all there are
 *   op=adopt    name inode uid   close it to others, and keep it closed
 *   op=aside    name inode uid   it is wrongly named: rename it out of the way
 *   op=forget   name             the broker ignores it: forget it
 *   op=mode     mode             with a descriptor of what is root's in the spool: it gets this mode
 *   op=close                     with a descriptor, whose closing might have to wait for a file system
 *
 * and hears
 *
 *   event=directory name inode uid   it is new, or something about it has changed
 *   event=adopted   name inode       with it, opened with O_PATH: others cannot enter it any more
 *   event=gone      name
 *   event=aside     name uid         something else than a directory, or of an impossible name; it has been renamed out of the way
 *   event=full      uid              so much of his is aside that he makes nothing more in specs/; with why_not: or would not, if that could be had
 *   event=scanned [whole=1]          whole: what has not been told of by now is not there */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>
#include <uthash.h>

#include "moved-aside.h"
#include "confine.h"
#include "lock-memory.h"
#include "transient.h"
#include "paragraph.h"
#include "send-fds.h"
#include "capabilities.h"
#include "units.h"

enum { SPECS = 3, NAME_MOST = 64 };
static const mode_t closed = 02700;

/* What the broker has been told of. */
struct directory {
    UT_hash_handle hh;
    uint64_t inode;
    uid_t uid;
    bool adopted, seen;
    char name[];
};
static struct directory *directories;
static gid_t group; /* of specs/, and so of all that is adopted */
static bool is_unsure; /* something could not be looked at or done: all is looked at again soon */
enum { UNSURE_PAUSE = 1000 /* ms */ };

/* ---- talking ---- */

static struct paragraph_output said;

static void say_with(int fd)
{
    paragraph_close(&said);
    while (!send_with_fd(STDIN_FILENO, said.data, said.length, fd, MSG_NOSIGNAL))
        if (!is_transient(errno))
            exit(EX_OK);
    paragraph_drop(&said, said.length);
}

static void say_about(const char *event, const char *name)
{
    char shown[NAME_MOST + 1];
    snprintf(shown, sizeof shown, "%s", name);
    paragraph_add(&said, "event", event);
    paragraph_add(&said, "name", paragraph_clean(shown));
}

static void say_gone(const char *name)
{
    say_about("gone", name);
    say_with(-1);
}

/* ---- what is there ---- */

static int open_plain(const char *name)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd, tries = 0;
    do
        fd = (int)syscall(SYS_openat2, SPECS, name, &how, sizeof how);
    while (fd < 0 && is_transient(errno) && ++tries < TRANSIENT_TRIES);
    return fd;
}

/* False, and perhaps unsure, if it cannot be seen. */
static bool see(int fd, struct stat *status)
{
    bool seen = false;
    for (int tries = 0; fd >= 0 && !seen && tries < TRANSIENT_TRIES; tries++)
        seen = fstat(fd, status) == 0;
    if (!seen && is_transient(errno))
        is_unsure = true;
    return seen;
}

static struct directory *find(const char *name)
{
    struct directory *directory;
    HASH_FIND_STR(directories, name, directory);
    return directory;
}

static void forget(struct directory *directory)
{
    HASH_DEL(directories, directory);
    free(directory);
}

static struct directory *remember(const char *name, const struct stat *status)
{
    const size_t size = strlen(name) + 1;
    struct directory *directory = calloc(1, sizeof *directory + size);
    if (directory == NULL)
        exit(EX_OSERR); /* the broker starts another one */
    memcpy(directory->name, name, size);
    directory->inode = status->st_ino;
    directory->uid = status->st_uid;
    HASH_ADD_KEYPTR(hh, directories, directory->name, size - 1, directory);
    return directory;
}

static bool is_possible(const char *name)
{
    size_t length = 0;
    for (; name[length] != '\0'; length++)
        if (name[length] < 0x21 || name[length] > 0x7e)
            return false;
    return length <= NAME_MOST && name[0] != '.';
}

static void tell_full(uid_t uid, bool done)
{
    paragraph_add(&said, "event", "full");
    paragraph_add_number(&said, "uid", uid);
    if (!done)
        paragraph_add(&said, "why_not", strerror(errno));
    say_with(-1);
}

/* What fails for a moment only is done at the next look. */
static bool move_aside(const char *name, uid_t uid)
{
    bool moved = false;
    for (int tries = 0; !moved && tries < TRANSIENT_TRIES; tries++)
        moved = moved_aside_move(name, uid);
    if (!moved && is_transient(errno))
        is_unsure = true;
    return moved;
}

static void tell_aside(const char *name, uid_t uid)
{
    if (!move_aside(name, uid))
        return;
    say_about("aside", name);
    paragraph_add_number(&said, "uid", uid);
    say_with(-1);
}

/* What has been moved aside stays where it is. Others' names of the same form tell of themselves when they are given, and only a look at all there are
 * cannot know whose they are: it counts them. And root may have what begins with a dot. */
static void tell_aside_unless(const char *name, const struct stat *status, bool scanning)
{
    if (name[0] == '.' && (status->st_uid == 0 || (scanning && moved_aside_is(name, status->st_uid))))
        return;
    tell_aside(name, status->st_uid);
}

/* A descriptor that was opened with O_PATH lets neither be done directly. */
static void close_to_others(int fd, const struct stat *status)
{
    char path[64];
    int tries = 0;
    while (status->st_gid != group && fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) != 0 && is_transient(errno) && ++tries < TRANSIENT_TRIES)
        ;
    if ((status->st_mode & 07777) == closed && status->st_gid == group)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    while (chmod(path, closed) != 0 && is_transient(errno) && ++tries < TRANSIENT_TRIES * 2)
        ;
}

static void tell(const struct directory *directory)
{
    say_about("directory", directory->name);
    paragraph_add_number(&said, "inode", directory->inode);
    paragraph_add_number(&said, "uid", directory->uid);
    say_with(-1);
}

/* Something of this name appeared in specs/, changed, or went; or it is only looked at. */
static void look(const char *name, bool scanning)
{
    struct stat status;
    struct directory *directory = find(name);
    const int fd = open_plain(name);
    const bool was_unsure = is_unsure;
    is_unsure = false;
    const bool there = see(fd, &status), unseen = is_unsure;
    is_unsure |= was_unsure;
    if (unseen) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (directory != NULL && (!there || directory->inode != status.st_ino || directory->uid != status.st_uid || !S_ISDIR(status.st_mode))) {
        say_gone(name);
        forget(directory);
        directory = NULL;
    }
    if (there && (!S_ISDIR(status.st_mode) || !is_possible(name)))
        tell_aside_unless(name, &status, scanning);
    else if (directory != NULL && directory->adopted)
        close_to_others(fd, &status); /* its owner may have opened it */
    else if (there && (directory == NULL || !scanning)) {
        if (directory == NULL)
            directory = remember(name, &status);
        tell(directory);
    }
    if (directory != NULL)
        directory->seen = true;
    if (fd >= 0)
        close(fd);
}

/* ---- all there are ---- */

/* After all that is moved in the same go, or that would be counted twice. */
static void count_aside(DIR *listing)
{
    const struct dirent *entry;
    struct stat status;
    rewinddir(listing);
    moved_aside_scan();
    while ((entry = readdir(listing)) != NULL) {
        const int fd = entry->d_name[0] == '.' ? open_plain(entry->d_name) : -1;
        if (fd >= 0 && fstat(fd, &status) == 0 && moved_aside_is(entry->d_name, status.st_uid))
            moved_aside_found(&status);
        if (fd >= 0)
            close(fd);
    }
    moved_aside_scanned();
}

/* To look at one may forget it, and no other. */
static void look_for_unseen(void)
{
    struct directory *directory, *next;
    HASH_ITER(hh, directories, directory, next)
        if (!directory->seen) {
            char name[NAME_MAX + 1];
            snprintf(name, sizeof name, "%s", directory->name);
            look(name, true);
        }
}

static void scan(void)
{
    struct directory *directory, *next;
    const struct dirent *entry;
    const int fd = openat(SPECS, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (listing == NULL)
        exit(EX_OSERR);
    is_unsure = false;
    HASH_ITER(hh, directories, directory, next)
        directory->seen = false;
    while (errno = 0, (entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            look(entry->d_name, true);
    is_unsure |= errno != 0;
    count_aside(listing);
    (void)closedir(listing);
    look_for_unseen();
    paragraph_add(&said, "event", "scanned");
    if (!is_unsure)
        paragraph_add(&said, "whole", "1");
    say_with(-1);
}

/* ---- what happens ---- */

/* What we have moved aside stays there, whatever its owner does to it. */
static bool is_to_stay(const struct inotify_event *event)
{
    return event->name[0] == '.' && ((event->mask & (IN_CREATE | IN_MOVED_TO)) == 0 || ((event->mask & IN_MOVED_TO) != 0 && moved_aside_was_ours(event->name)));
}

/* Not many at a time: who makes directories faster than they are looked at is stopped by what the broker answers meanwhile. */
static void take_events(int inotify)
{
    static char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    const ssize_t got = read(inotify, bytes, sizeof bytes);
    bool lost = false;
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const void *)(bytes + at);
        at += (ssize_t)(sizeof *event + event->len);
        if ((event->mask & IN_Q_OVERFLOW) != 0) {
            lost = true;
            moved_aside_expect_nothing();
        }
        if (event->len > 0 && !is_to_stay(event))
            look(event->name, false);
    }
    if (lost)
        scan();
}

/* ---- what the broker says ---- */

static int open_meant(const struct paragraph *request, const char *name, struct stat *status)
{
    uint64_t inode, uid;
    if (paragraph_get_number(request, "inode", UINT64_MAX, &inode) != 1 || paragraph_get_number(request, "uid", UINT32_MAX, &uid) != 1)
        exit(EX_PROTOCOL);
    const int fd = open_plain(name);
    if (see(fd, status) && status->st_ino == inode && status->st_uid == uid && S_ISDIR(status->st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1; /* another one by now, which is an event */
}

static void adopt(const struct paragraph *request, const char *name)
{
    struct stat status;
    struct directory *directory = find(name);
    const int fd = open_meant(request, name, &status);
    if (fd < 0)
        return;
    close_to_others(fd, &status);
    if (directory == NULL)
        directory = remember(name, &status); /* of an adopter before */
    directory->adopted = true;
    say_about("adopted", name);
    paragraph_add_number(&said, "inode", directory->inode);
    say_with(fd);
    close(fd);
}

static void forget_ignored(const char *name)
{
    struct directory *directory = find(name);
    if (directory != NULL && !directory->adopted)
        forget(directory);
}

static void put_aside(const struct paragraph *request, const char *name)
{
    struct stat status;
    struct directory *directory = find(name);
    const int fd = open_meant(request, name, &status);
    if (fd < 0)
        return;
    close(fd);
    if (directory != NULL)
        forget(directory);
    (void)move_aside(name, status.st_uid);
}

/* The broker lacks the power to set a set-group-ID bit for a group that is not its own. */
static void set_mode(const struct paragraph *request, int fd)
{
    char path[64];
    struct stat status;
    uint64_t mode;
    if (fd < 0 || paragraph_get_number(request, "mode", 07777, &mode) != 1)
        exit(EX_PROTOCOL);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fstat(fd, &status) == 0 && status.st_uid == 0)
        (void)chmod(path, (mode_t)mode);
}

static void obey(const struct paragraph *request, int fd)
{
    const char *op = paragraph_get(request, "op"), *name = paragraph_get(request, "name");
    if (op == NULL || (name != NULL && (!is_possible(name) || name[0] == '.' || strchr(name, '/') != NULL)))
        exit(EX_PROTOCOL);
    if (strcmp(op, "scan") == 0)
        scan();
    else if (strcmp(op, "adopt") == 0 && name != NULL)
        adopt(request, name);
    else if (strcmp(op, "aside") == 0 && name != NULL)
        put_aside(request, name);
    else if (strcmp(op, "forget") == 0 && name != NULL)
        forget_ignored(name);
    else if (strcmp(op, "mode") == 0)
        set_mode(request, fd);
    else if (strcmp(op, "close") != 0)
        exit(EX_PROTOCOL);
}

static void take_message(void)
{
    static struct paragraph_input input;
    char bytes[PARAGRAPH_BYTES];
    struct paragraph request;
    const char *why;
    int fd;
    const ssize_t got = receive_with_fd(STDIN_FILENO, bytes, sizeof bytes, &fd);
    if (got < 0 && is_transient(errno))
        return; /* what has come is there at the next poll */
    if (got <= 0)
        exit(EX_OK); /* the broker is gone */
    if (!paragraph_feed(&input, bytes, (size_t)got) || paragraph_take(&input, &request, &why) != 1)
        exit(EX_PROTOCOL);
    obey(&request, fd);
    if (fd >= 0)
        close(fd);
}

static bool confine(void)
{
    /* Directories that are others' get group and mode (CHOWN, FOWNER, FSETID) and are renamed though the sticky bit of specs/ says
     * that only their owner may (FOWNER). */
    static const int powers[] = {CAP_CHOWN, CAP_FOWNER, CAP_FSETID, -1};
    static const struct confine_path only[] = {{"/proc/self/fd/3", MAY_CHANGE}, {0}};
    static const char *const calls[] = {
        "poll", "ppoll", "read", "recvmsg", "sendmsg", "openat2", "open", "openat", "close", "fstat", "newfstatat", "statx", "getdents64", "lseek", "renameat2", "unlinkat", "fgetxattr", "fsetxattr", "chmod",
        "fchmodat", "fchownat", "brk", "mmap", "munmap", "mremap", "madvise", "mprotect", "futex", "getrandom", "restart_syscall", "exit", "exit_group", "getpid", "gettid", NULL};
    if (!confine_for_good() || !capabilities_keep(powers))
        return false;
    (void)confine_files(only); /* the broker has said whether there is such a thing */
    return confine_calls(calls);
}

int main(void)
{
    struct stat specs;
    const int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    umask(0077);
    (void)memory_lock_without_power(MCL_ONFAULT);
    if (fstat(SPECS, &specs) != 0 || inotify < 0 || inotify_add_watch(inotify, "/proc/self/fd/3", IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_ONLYDIR) < 0 ||
        !confine()) {
        fprintf(stderr, "rtf-adopter: %s (it is started by rtf-brokerd(8))\n", strerror(errno));
        return EX_OSERR;
    }
    group = specs.st_gid;
    moved_aside_begin(SPECS, tell_full);
    struct pollfd both[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = inotify, .events = POLLIN}};
    for (;;) {
        const int ready = poll(both, 2, is_unsure ? UNSURE_PAUSE : -1);
        if (ready < 0 && errno != EINTR)
            return EX_OSERR;
        if (ready == 0)
            scan();
        if (ready <= 0)
            continue;
        if (both[0].revents != 0)
            take_message();
        else if (both[1].revents != 0)
            take_events(inotify);
    }
}
