#include "spool-permissions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directories.h"
#include "event.h"
#include "loop.h"
#include "spool.h"

static const struct {
    const char *name;
    mode_t type, mode;
} parts[] = {{".", S_IFDIR, 0755},          {"state", S_IFDIR, 0700}, {"log", S_IFDIR, 02750},
             {"specs", S_IFDIR, 03730},     {"alive", S_IFIFO, 0620}, {"starting", S_IFIFO, 0620},
             {"status.json", S_IFREG, 0640}};
/* Changed timestamps cause such events, too, and a member of the spool's group may change
 * timestamps in the spool without end. So the first change is corrected at once, and later changes
 * after a pause. */
static const int64_t pause_after = 1000000000; /* ns */

static void changed(struct source *source, uint32_t events);

static struct {
    struct source source;
    int inotify;
    struct timer rest;
} modes = {.source.ready = changed, .inotify = -1};

static void mend(const char *name, mode_t type, mode_t mode)
{
    struct stat status;
    const int fd = openat(spool.root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) != type || status.st_uid != 0 ||
        (status.st_mode & 07777) == mode) {
        close(fd);
        return;
    }
    event_broker("warning", "%s had the mode %04o and has %04o again",
                 strcmp(name, ".") == 0 ? "the spool" : name, status.st_mode & 07777, mode);
    directories_set_mode(fd, mode);
}

void spool_permissions_mend(void)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        mend(parts[i].name, parts[i].type, parts[i].mode);
}

static bool spool_permissions_take_events(void)
{
    char bytes[4096];
    return read(modes.inotify, bytes, sizeof bytes) > 0;
}

/* Corrects the first change at once. This correction causes events, too. When the broker reads
 * these events after the pause, all modes are right already. */
static void changed(struct source *source, uint32_t events)
{
    (void)events;
    (void)spool_permissions_take_events();
    loop_change(modes.inotify, 0, source);
    timer_set(&modes.rest, monotonic_now() + pause_after);
    spool_permissions_mend();
}

/* Reads the events of the pause, and looks at all modes once. If there are more events than
 * READS_MOST reads take, another pause follows. */
static void pause_is_over(struct timer *timer)
{
    enum { READS_MOST = 16 };
    (void)timer;
    for (int reads = 0; reads < READS_MOST && spool_permissions_take_events(); reads++)
        ;
    spool_permissions_mend();
    loop_change(modes.inotify, EPOLLIN, &modes.source);
}

/* One watch on the spool's directory is enough, because it also reports changes of the directories
 * in the spool. */
void spool_permissions_watch(void)
{
    char path[64];
    modes.rest.due = pause_is_over;
    snprintf(path, sizeof path, "/proc/self/fd/%d", spool.root);
    modes.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (modes.inotify < 0 || inotify_add_watch(modes.inotify, path, IN_ATTRIB | IN_ONLYDIR) < 0 ||
        !loop_add(modes.inotify, EPOLLIN, &modes.source))
        event_broker(
            "warning",
            "a changed mode in the spool is noticed only at SIGHUP, because inotify failed: %s",
            strerror(errno));
}
