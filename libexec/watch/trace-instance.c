#include "trace-instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording-guard.h"
#include "thread.h"
#include "tracing.h"

static const char instances[] = "instances", prefix[] = "rtf-watch-";

/* ---- files ---- */

int instance_open(const struct instance *instance, const char *file, int flags)
{
    char path[INSTANCE_PATH];
    snprintf(path, sizeof path, "%s/%s/%s", instances, instance->name, file);
    return openat(instance->root, path, flags | O_CLOEXEC);
}

bool instance_put(const struct instance *instance, const char *file, const char *text)
{
    const int fd = instance_open(instance, file, O_WRONLY | O_TRUNC);
    const bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return good;
}

size_t instance_read(const struct instance *instance, const char *file, char *text, size_t size)
{
    const int fd = openat(instance->root, file, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = 0;
    while (fd >= 0 && length < size && (got = read(fd, text + length, size - length)) > 0)
        length += (size_t)got;
    if (fd >= 0)
        close(fd);
    if (got < 0 || length == size)
        length = 0;
    text[length] = '\0';
    return length;
}

/* ---- instances of processes that have ended ---- */

/* True if the process that has made the instance still runs. The name has the process's id and its
 * start, because ids are reused. */
static bool is_in_use(const char *name)
{
    int process;
    unsigned long long start;
    struct identity identity;
    return sscanf(name + sizeof prefix - 1, "%d-%llu", &process, &start) == 2 &&
           thread_look(process, &identity) && identity.start == start;
}

/* Removes the instances of processes that have ended. The instance of a process in another pid
 * namespace looks unused here. But it remains, because the kernel does not remove an instance while
 * a process has one of its files open. */
static void remove_unused(int root)
{
    const int list = openat(root, instances, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = list < 0 ? NULL : fdopendir(list);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 && !is_in_use(entry->d_name))
            (void)unlinkat(list, entry->d_name, AT_REMOVEDIR);
    if (entries != NULL)
        closedir(entries);
}

/* ---- making and removing ---- */

static bool name_and_make(struct instance *instance)
{
    char path[INSTANCE_PATH];
    struct identity own;
    if (!thread_look(getpid(), &own))
        return false;
    snprintf(instance->name, sizeof instance->name, "%s%d-%llu", prefix, (int)getpid(),
             (unsigned long long)own.start);
    snprintf(path, sizeof path, "%s/%s", instances, instance->name);
    /* the guard starts first, because this process may be killed at any time */
    instance->guard = start_guard(instance->root, path);
    return instance->guard > 0 && mkdirat(instance->root, path, 0700) == 0;
}

bool instance_make(struct instance *instance, int root)
{
    *instance = (struct instance){.root = root >= 0 ? root : tracing_open(), .guard = -1};
    if (instance->root < 0)
        return false;
    remove_unused(instance->root);
    if (name_and_make(instance))
        return true;
    const int error = errno;
    end_guard(&instance->guard);
    close(instance->root);
    instance->root = -1;
    errno = error;
    return false;
}

void instance_remove(struct instance *instance)
{
    char path[INSTANCE_PATH];
    if (instance->root < 0)
        return;
    snprintf(path, sizeof path, "%s/%s", instances, instance->name);
    (void)unlinkat(instance->root, path, AT_REMOVEDIR);
    end_guard(&instance->guard);
    close(instance->root);
    instance->root = -1;
}
