#include "watches.h"

#include <limits.h>
#include <sys/inotify.h>

#include "files.h"

static int descriptor = -1;

void watches_use(int inotify)
{
    descriptor = inotify;
}

int watches_descriptor(void)
{
    return descriptor;
}

int watch_add(const char *path, uint32_t mask)
{
    return descriptor < 0 ? -1 : inotify_add_watch(descriptor, path, mask);
}

int watch_file(const char *name)
{
    char file[NAME_MAX + 1];
    return watch_add(file_name(file, name, ".json"), IN_CLOSE_WRITE | IN_ATTRIB | IN_DONT_FOLLOW);
}

void watch_end(int watch)
{
    (void)inotify_rm_watch(descriptor, watch);
}
