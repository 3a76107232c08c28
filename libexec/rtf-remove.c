/* rtf-remove: ends specs of one user for root, who must not be led elsewhere meanwhile: rtf-revoke(8).
 *
 *     rtf-remove SPOOL USER MILLISECONDS [NAME...]
 *
 * The owner of a directory can rename it, and put a link in its place, at any instant. So it is opened once, without following a link, and each file
 * is removed relative to what was opened: whatever he does then, nothing outside of that directory is touched, and the last part of a path is never
 * followed. Prints the name of each spec that it has removed; waits until the broker has taken their verdicts away, as it does last. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "name.h"
#include "units.h"

enum { FILE_BYTES = NAME_BYTES + 16 };
static int directory = -1;
static char **names;
static int count;

static void die(int status, const char *what, const char *why)
{
    fprintf(stderr, "rtf-remove: %s: %s\n", what, why);
    exit(status);
}

static const char *file_of(const char *name, const char *suffix)
{
    static char file[FILE_BYTES];
    snprintf(file, sizeof file, "%s.%s", name, suffix);
    return file;
}

static void keep(const char *name)
{
    char **grown = realloc(names, (size_t)(count + 1) * sizeof *grown);
    if (grown == NULL || (grown[count] = strdup(name)) == NULL)
        die(EX_OSERR, name, strerror(ENOMEM));
    names = grown;
    count++;
}

/* A name with a slash would lead out of the directory: none of the alphabet has one. */
static void open_directory(const char *spool, const char *user)
{
    char specs[4096];
    struct stat parent, status;
    snprintf(specs, sizeof specs, "%s/specs", spool);
    int fd = open(specs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &parent) != 0)
        die(EX_UNAVAILABLE, specs, strerror(errno));
    if (strchr(user, '/') != NULL || user[0] == '.' || user[0] == '\0')
        die(EX_USAGE, user, "no name of a directory");
    directory = openat(fd, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (directory < 0)
        die(EX_NOINPUT, user, strerror(errno));
    if (fstat(directory, &status) != 0 || status.st_dev != parent.st_dev)
        die(EX_NOINPUT, user, "on another file system than specs/");
    close(fd);
}

/* What is there now; what its owner makes meanwhile, he has made after the administrator's decision. */
static void find_all(void)
{
    DIR *listing = fdopendir(dup(directory));
    const struct dirent *entry;
    char name[NAME_BYTES];
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (suffix == NULL || strcmp(suffix, ".json") != 0 || suffix - entry->d_name >= NAME_BYTES)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(suffix - entry->d_name), entry->d_name);
        if (name_is_valid(name, strlen(name), NAME_BYTES - 1))
            keep(name);
    }
    if (listing != NULL)
        closedir(listing);
}

static bool exists(const char *file)
{
    struct stat status;
    return fstatat(directory, file, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Names that were none when they were looked at are dropped. */
static int remove_all(bool all)
{
    int removed = 0;
    for (int i = 0; i < count; i++) {
        if (unlinkat(directory, file_of(names[i], "json"), 0) != 0) {
            if (!all || (errno != ENOENT && errno != EISDIR)) /* a directory is no spec */
                fprintf(stderr, "rtf-remove: %s: %s\n", names[i], errno == ENOENT ? "there is no such spec" : strerror(errno));
            continue;
        }
        (void)unlinkat(directory, file_of(names[i], "tid"), 0);
        puts(names[i]);
        names[removed++] = names[i];
    }
    return removed;
}

static bool has_ended(int removed)
{
    for (int i = 0; i < removed; i++)
        if (!exists(file_of(names[i], "json")) && exists(file_of(names[i], "verdict")))
            return false;
    return true;
}

static bool await_end(int events, int removed, int64_t until)
{
    char room[4096];
    struct pollfd poll_for = {.fd = events, .events = POLLIN};
    while (!has_ended(removed)) {
        const int64_t left = (until - monotonic_now()) / 1000000;
        if (left <= 0)
            return false;
        (void)poll(&poll_for, 1, (int)left);
        while (read(events, room, sizeof room) > 0)
            ;
    }
    return true;
}

int main(int argc, char **argv)
{
    char place[64];
    uint64_t milliseconds;
    if (argc < 4 || !parse_number(argv[3], 3600000, &milliseconds))
        die(EX_USAGE, "usage", "rtf-remove SPOOL USER MILLISECONDS [NAME...]");
    const int64_t until = monotonic_now() + (int64_t)milliseconds * 1000000;
    open_directory(argv[1], argv[2]);
    for (int i = 4; i < argc; i++) {
        if (!name_is_valid(argv[i], strlen(argv[i]), NAME_BYTES - 1))
            die(EX_USAGE, argv[i], "no name of a spec");
        keep(argv[i]);
    }
    if (argc == 4)
        find_all();
    int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(place, sizeof place, "/proc/self/fd/%d", directory);
    if (events < 0 || inotify_add_watch(events, place, IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF) < 0)
        die(EX_OSERR, argv[2], strerror(errno));
    const int removed = remove_all(argc == 4);
    if (fflush(stdout) != 0)
        die(EX_IOERR, "standard output", strerror(errno));
    if (milliseconds > 0 && !await_end(events, removed, until))
        return EX_TEMPFAIL;
    return removed == count || argc == 4 ? EX_OK : EX_NOINPUT;
}
