/* rtf-adopter: looks after specs/, in which each member of the group makes a directory. rtf-adopter
 * reports directories that appear, change and disappear, keeps the modes of adopted directories,
 * and moves files that do not belong there out of the way.
 *
 * rtf-adopter is a program of its own because looking up a name, renaming and similar calls can
 * wait for a process that holds the lock of specs/ or of a directory in specs/. Any member of the
 * group can keep such a lock held for long. So only users without an adopted directory wait, not
 * the broker. The adopter never removes a directory to make way: a user may have mounted a large
 * file system on it, and rmdir(2) would unmount that file system in the end. One rule holds for
 * every name, also for a name that begins with a dot: anything but a directory with a valid name is
 * renamed out of the way.
 *
 * Standard input is a SOCK_SEQPACKET socket to the broker; descriptor 3 is specs/. The broker sends
 *
 *     op=scan                      report all directories
 *     op=adopt    name inode uid   close the directory to other users, and keep it closed
 *     op=aside    name inode uid   the directory's name is wrong: move it aside
 *     op=forget   name             the broker ignores the directory: forget it
 *     op=mode     mode             with a descriptor of a file of root in the spool: set this mode
 *     op=close                     with a descriptor, whose closing might wait for a file system
 *
 * and gets
 *
 *     event=directory name inode uid   the directory is new, or has changed
 *     event=adopted   name inode       the directory is closed to others; with an O_PATH descriptor
 *     event=gone      name             the directory does not exist any more
 *     event=aside     name uid         moved aside a file that is no directory or has a wrong name
 *     event=full      uid              this user has so many files moved aside that the user can make
 *                                      nothing more in specs/; with why_not: setting the ACL failed
 *     event=scanned [whole=1]          whole=1: a directory that was not reported does not exist */
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

/* A directory that the broker knows. */
struct directory {
    UT_hash_handle hh;
    uint64_t inode;
    uid_t uid;
    bool adopted, seen;
    char name[];
};
static struct directory *directories;
static gid_t group;      /* the group of specs/, and so of all adopted directories */
static bool must_rescan; /* a file could not be looked at or moved: scan again soon */
enum { RESCAN_PAUSE = 1000 /* ms */ };

/* ---- messages to the broker ---- */

static struct paragraph_output output;

static void send_message(int fd)
{
    paragraph_close(&output);
    while (!send_with_fd(STDIN_FILENO, output.data, output.length, fd, MSG_NOSIGNAL))
        if (!is_transient(errno))
            exit(EX_OK);
    paragraph_drop(&output, output.length);
}

static void begin_message(const char *event, const char *name)
{
    char shown[NAME_MOST + 1];
    snprintf(shown, sizeof shown, "%s", name);
    paragraph_add(&output, "event", event);
    paragraph_add(&output, "name", paragraph_clean(shown));
}

static void report_gone(const char *name)
{
    begin_message("gone", name);
    send_message(-1);
}

/* ---- directories and files in specs/ ---- */

static int open_plain(const char *name)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS |
                                      RESOLVE_NO_MAGICLINKS};
    int fd, tries = 0;
    do
        fd = (int)syscall(SYS_openat2, SPECS, name, &how, sizeof how);
    while (fd < 0 && is_transient(errno) && ++tries < TRANSIENT_TRIES);
    return fd;
}

/* Reads the status of the open file. False: it cannot be read; after a temporary error the next
 * scan looks again. */
static bool look_at(int fd, struct stat *status)
{
    bool seen = false;
    for (int tries = 0; fd >= 0 && !seen && tries < TRANSIENT_TRIES; tries++)
        seen = fstat(fd, status) == 0;
    if (!seen && is_transient(errno))
        must_rescan = true;
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
        exit(EX_OSERR); /* the broker starts another adopter */
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

static void report_full(uid_t uid, bool done)
{
    paragraph_add(&output, "event", "full");
    paragraph_add_number(&output, "uid", uid);
    if (!done)
        paragraph_add(&output, "why_not", strerror(errno));
    send_message(-1);
}

/* After a temporary error the next scan tries again. */
static bool move_aside(const char *name, uid_t uid)
{
    bool moved = false;
    for (int tries = 0; !moved && tries < TRANSIENT_TRIES; tries++)
        moved = moved_aside_move(name, uid);
    if (!moved && is_transient(errno))
        must_rescan = true;
    return moved;
}

static void move_aside_and_report(const char *name, uid_t uid)
{
    if (!move_aside(name, uid))
        return;
    begin_message("aside", name);
    paragraph_add_number(&output, "uid", uid);
    send_message(-1);
}

/* Moves a file aside that does not belong into specs/. Leaves a dot file of root alone, and, in a
 * scan, a file that was moved aside before. A user may give a file a name of the same form. A scan
 * cannot tell such a file from a moved one, so it leaves the file; the event for that name moves
 * it. */
static void move_stray_aside(const char *name, const struct stat *status, bool scanning)
{
    if (name[0] == '.' &&
        (status->st_uid == 0 || (scanning && moved_aside_is(name, status->st_uid))))
        return;
    move_aside_and_report(name, status->st_uid);
}

/* Sets the group and the mode through a path in /proc, because fchown(2) and fchmod(2) refuse an
 * O_PATH descriptor. */
static void close_to_others(int fd, const struct stat *status)
{
    char path[64];
    int tries = 0;
    while (status->st_gid != group && fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) != 0 &&
           is_transient(errno) && ++tries < TRANSIENT_TRIES)
        ;
    if ((status->st_mode & 07777) == closed && status->st_gid == group)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    while (chmod(path, closed) != 0 && is_transient(errno) && ++tries < TRANSIENT_TRIES * 2)
        ;
}

static void report_directory(const struct directory *directory)
{
    begin_message("directory", directory->name);
    paragraph_add_number(&output, "inode", directory->inode);
    paragraph_add_number(&output, "uid", directory->uid);
    send_message(-1);
}

/* Examines a name in specs/ after an event, or during a scan. */
static void examine(const char *name, bool scanning)
{
    struct stat status;
    struct directory *directory = find(name);
    const int fd = open_plain(name);
    const bool had_to_rescan = must_rescan;
    must_rescan = false;
    const bool there = look_at(fd, &status), unseen = must_rescan;
    must_rescan |= had_to_rescan;
    if (unseen) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (directory != NULL && (!there || directory->inode != status.st_ino ||
                              directory->uid != status.st_uid || !S_ISDIR(status.st_mode))) {
        report_gone(name);
        forget(directory);
        directory = NULL;
    }
    if (there && (!S_ISDIR(status.st_mode) || !is_possible(name)))
        move_stray_aside(name, &status, scanning);
    else if (directory != NULL && directory->adopted)
        close_to_others(fd, &status); /* the owner may have opened the directory to other users */
    else if (there && (directory == NULL || !scanning)) {
        if (directory == NULL)
            directory = remember(name, &status);
        report_directory(directory);
    }
    if (directory != NULL)
        directory->seen = true;
    if (fd >= 0)
        close(fd);
}

/* ---- scanning ---- */

/* Counts the moved files after the scan has moved files aside, so that each file is counted
 * once. */
static void count_aside(DIR *listing)
{
    const struct dirent *entry;
    struct stat status;
    rewinddir(listing);
    moved_aside_begin_count();
    while ((entry = readdir(listing)) != NULL) {
        const int fd = entry->d_name[0] == '.' ? open_plain(entry->d_name) : -1;
        if (fd >= 0 && fstat(fd, &status) == 0 && moved_aside_is(entry->d_name, status.st_uid))
            moved_aside_count(&status);
        if (fd >= 0)
            close(fd);
    }
    moved_aside_end_count();
}

/* Examines the directories that the scan did not find. Examining a directory may remove it from the
 * table, but removes no other directory. */
static void examine_missing(void)
{
    struct directory *directory, *next;
    HASH_ITER (hh, directories, directory, next)
        if (!directory->seen) {
            char name[NAME_MAX + 1];
            snprintf(name, sizeof name, "%s", directory->name);
            examine(name, true);
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
    must_rescan = false;
    HASH_ITER (hh, directories, directory, next)
        directory->seen = false;
    while (errno = 0, (entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            examine(entry->d_name, true);
    must_rescan |= errno != 0;
    count_aside(listing);
    (void)closedir(listing);
    examine_missing();
    paragraph_add(&output, "event", "scanned");
    if (!must_rescan)
        paragraph_add(&output, "whole", "1");
    send_message(-1);
}

/* ---- events ---- */

/* True: the event is about a file that was moved aside. Such a file stays, whatever its owner
 * does. */
static bool is_about_moved_aside(const struct inotify_event *event)
{
    return event->name[0] == '.' &&
           ((event->mask & (IN_CREATE | IN_MOVED_TO)) == 0 ||
            ((event->mask & IN_MOVED_TO) != 0 && moved_aside_take_event(event->name)));
}

/* Reads few events at a time: between two reads the broker's answers can stop a user who makes
 * directories faster than they are examined. */
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
            moved_aside_forget_events();
        }
        if (event->len > 0 && !is_about_moved_aside(event))
            examine(event->name, false);
    }
    if (lost)
        scan();
}

/* ---- requests ---- */

static int open_named(const struct paragraph *request, const char *name, struct stat *status)
{
    uint64_t inode, uid;
    if (paragraph_get_number(request, "inode", UINT64_MAX, &inode) != 1 ||
        paragraph_get_number(request, "uid", UINT32_MAX, &uid) != 1)
        exit(EX_PROTOCOL);
    const int fd = open_plain(name);
    if (look_at(fd, status) && status->st_ino == inode && status->st_uid == uid &&
        S_ISDIR(status->st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1; /* another directory has the name by now; an event will report it */
}

static void adopt(const struct paragraph *request, const char *name)
{
    struct stat status;
    struct directory *directory = find(name);
    const int fd = open_named(request, name, &status);
    if (fd < 0)
        return;
    close_to_others(fd, &status);
    if (directory == NULL)
        directory = remember(name, &status); /* an earlier adopter has reported the directory */
    directory->adopted = true;
    begin_message("adopted", name);
    paragraph_add_number(&output, "inode", directory->inode);
    send_message(fd);
    close(fd);
}

static void forget_ignored(const char *name)
{
    struct directory *directory = find(name);
    if (directory != NULL && !directory->adopted)
        forget(directory);
}

static void move_misnamed_aside(const struct paragraph *request, const char *name)
{
    struct stat status;
    struct directory *directory = find(name);
    const int fd = open_named(request, name, &status);
    if (fd < 0)
        return;
    close(fd);
    if (directory != NULL)
        forget(directory);
    (void)move_aside(name, status.st_uid);
}

/* Sets the mode of a file of root's for the broker, which lacks the capability to set a
 * set-group-ID bit for a group that it is not in. */
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

static void serve_request(const struct paragraph *request, int fd)
{
    const char *op = paragraph_get(request, "op"), *name = paragraph_get(request, "name");
    if (op == NULL ||
        (name != NULL && (!is_possible(name) || name[0] == '.' || strchr(name, '/') != NULL)))
        exit(EX_PROTOCOL);
    if (strcmp(op, "scan") == 0)
        scan();
    else if (strcmp(op, "adopt") == 0 && name != NULL)
        adopt(request, name);
    else if (strcmp(op, "aside") == 0 && name != NULL)
        move_misnamed_aside(request, name);
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
        return; /* the data that has come is still there at the next poll */
    if (got <= 0)
        exit(EX_OK); /* the broker has ended */
    if (!paragraph_feed(&input, bytes, (size_t)got) || paragraph_take(&input, &request, &why) != 1)
        exit(EX_PROTOCOL);
    serve_request(&request, fd);
    if (fd >= 0)
        close(fd);
}

static bool confine(void)
{
    /* CHOWN, FOWNER, FSETID: set group and mode of users' directories. FOWNER: rename directories
     * although the sticky bit of specs/ allows only their owners to do so. */
    static const int powers[] = {CAP_CHOWN, CAP_FOWNER, CAP_FSETID, -1};
    static const struct confine_path only[] = {{"/proc/self/fd/3", MAY_CHANGE}, {0}};
    static const char *const calls[] = {
        "poll",       "ppoll",      "read",      "recvmsg",  "sendmsg",    "openat2",
        "open",       "openat",     "close",     "fstat",    "newfstatat", "statx",
        "getdents64", "lseek",      "renameat2", "unlinkat", "fgetxattr",  "fsetxattr",
        "chmod",      "fchmodat",   "fchownat",  "brk",      "mmap",       "munmap",
        "mremap",     "madvise",    "mprotect",  "futex",    "getrandom",  "restart_syscall",
        "exit",       "exit_group", "getpid",    "gettid",   NULL};
    if (!confine_for_good() || !capabilities_keep(powers))
        return false;
    (void)confine_files(only); /* the broker reports a kernel without Landlock */
    return confine_calls(calls);
}

int main(void)
{
    struct stat specs;
    const int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    umask(0077);
    (void)memory_lock_without_power(MCL_ONFAULT);
    if (fstat(SPECS, &specs) != 0 || inotify < 0 ||
        inotify_add_watch(inotify, "/proc/self/fd/3",
                          IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |
                              IN_ONLYDIR) < 0 ||
        !confine()) {
        fprintf(stderr, "rtf-adopter: %s (only rtf-brokerd(8) starts this program)\n",
                strerror(errno));
        return EX_OSERR;
    }
    group = specs.st_gid;
    moved_aside_begin(SPECS, report_full);
    struct pollfd both[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = inotify, .events = POLLIN}};
    for (;;) {
        const int ready = poll(both, 2, must_rescan ? RESCAN_PAUSE : -1);
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
