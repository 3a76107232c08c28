#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "run-directory.h"
#include "spool.h"

const char place_journal[] = "journal", place_journal_new[] = "journal.new";
static const char link_name[] = "current", new_link_name[] = "current.new",
                  orders_name[] = "orders", books_name[] = "books.json";
enum { PATH_BYTES = 128 };

static struct {
    char path[PATH_BYTES], doubt[300];
} place;

static bool name_place(void)
{
    struct stat status;
    return fstat(spool.root, &status) == 0 &&
           snprintf(place.path, sizeof place.path, "%s/%llx-%llx", RUN_DIRECTORY,
                    (unsigned long long)status.st_dev,
                    (unsigned long long)status.st_ino) < PATH_BYTES;
}

/* True: only root can have made files in the directory. */
static bool is_private(int directory, mode_t others)
{
    struct stat status;
    return fstat(directory, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid()) &&
           (status.st_mode & others) == 0;
}

/* ---- the link ---- */

static bool read_link(char target[static PATH_BYTES])
{
    const ssize_t length = readlinkat(spool.lasting, link_name, target, PATH_BYTES);
    if (length <= 0 || length >= PATH_BYTES)
        return false;
    target[length] = '\0';
    return true;
}

static bool link_leads_here(void)
{
    char target[PATH_BYTES];
    return read_link(target) && strcmp(target, place.path) == 0;
}

/* If the spool was copied, or moved to another file system, its link leads to the directory of the
 * former spool. Warns that the broker does not continue the grants in that directory. */
static void doubt_former(void)
{
    char target[PATH_BYTES];
    if (read_link(target) && access(target, F_OK) == 0)
        snprintf(place.doubt, sizeof place.doubt,
                 "the spool was copied or moved: the broker does not continue the grants in %s",
                 target);
}

static bool make_link(void)
{
    (void)unlinkat(spool.lasting, new_link_name, 0);
    return symlinkat(place.path, spool.lasting, new_link_name) == 0 &&
           renameat(spool.lasting, new_link_name, spool.lasting, link_name) == 0;
}

/* ---- the directory ---- */

static void empty(int directory)
{
    const char *const names[] = {place_journal, place_journal_new, books_name, orders_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlinkat(directory, names[i], 0);
}

static bool refuse(const char *path, const char *why, char reason[static REASON_BYTES])
{
    snprintf(reason, REASON_BYTES, "%s: %s", path, why);
    return false;
}

static bool open_place(char reason[static REASON_BYTES])
{
    if (mkdir(place.path, 0700) != 0 && errno != EEXIST)
        return refuse(place.path, strerror(errno), reason);
    spool.state = open(place.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (spool.state < 0)
        return refuse(place.path, strerror(errno), reason);
    if (!is_private(spool.state, 077))
        return refuse(place.path, "must be a directory that root alone can enter", reason);
    /* normally state/lock keeps a second broker away; this lock does so if state/ was removed while
     * the first broker runs */
    return flock(spool.state, LOCK_EX | LOCK_NB) == 0 ||
           refuse(place.path, "another broker has its journal there", reason);
}

static void doubt_disk(int parent)
{
    struct statfs status;
    if (fstatfs(parent, &status) == 0 && status.f_type != TMPFS_MAGIC &&
        status.f_type != RAMFS_MAGIC)
        snprintf(place.doubt, sizeof place.doubt,
                 "%s is not in memory (a tmpfs): the broker may have to wait for the disk",
                 RUN_DIRECTORY);
}

/* If the link does not lead to this directory, empties the directory and makes the link. The broker
 * makes no grant before the link exists. So if the broker is killed before, the next broker may
 * empty the directory again. */
static bool make_ours(char reason[static REASON_BYTES])
{
    (void)unlinkat(spool.state, place_journal_new, 0);
    if (link_leads_here())
        return true;
    empty(spool.state);
    doubt_former();
    return make_link() || refuse("state/current", strerror(errno), reason);
}

bool place_open(char reason[static REASON_BYTES])
{
    if (!name_place())
        return refuse(RUN_DIRECTORY, strerror(errno), reason);
    const int parent = run_directory_hold();
    if (parent < 0)
        return refuse(RUN_DIRECTORY, strerror(errno), reason);
    doubt_disk(parent);
    const bool good =
        is_private(parent, 022)
            ? open_place(reason) && make_ours(reason)
            : refuse(RUN_DIRECTORY, "must be a directory that only root can write to", reason);
    run_directory_leave(parent);
    return good;
}

void place_find(void)
{
    if (!name_place() || !link_leads_here())
        return;
    spool.state = open(place.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (spool.state < 0 || is_private(spool.state, 077))
        return;
    close(spool.state);
    spool.state = -1;
}

void place_end(int directory)
{
    struct stat status;
    (void)unlinkat(directory, orders_name, 0);
    (void)unlinkat(directory, place_journal_new, 0);
    if (fstatat(directory, place_journal, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISREG(status.st_mode) || status.st_size > 0))
        return;
    empty(directory);
    (void)rmdir(place.path);
}

const char *place_path(void)
{
    return place.path;
}

const char *place_doubt(void)
{
    return place.doubt[0] == '\0' ? NULL : place.doubt;
}
