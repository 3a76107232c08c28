#include "trace-instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Removes the instances of processes that have ended. The kernel does not remove an instance while
 * a process has a file of it open. So the instance of a process in another pid namespace remains,
 * too, although it looks unused here. */
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

static bool remove_named(int root, const char *name)
{
    char path[INSTANCE_PATH];
    snprintf(path, sizeof path, "%s/%s", instances, name);
    return unlinkat(root, path, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

/* ---- the guard ---- */

/* Waits for the end of the process `watched`. At that time the kernel has closed all its files, and
 * so the instance can be removed. */
__attribute__((noreturn)) static void guard(int watched, const struct instance *instance)
{
    struct pollfd end = {.fd = watched, .events = POLLIN};
    sigset_t all;
    sigfillset(&all);
    (void)setsid(); /* Ctrl-C on the terminal ends only the process that is guarded */
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)prctl(PR_SET_NAME, "rtf-watch-guard");
    (void)!chdir("/");
    (void)dup2(watched, STDIN_FILENO);
    (void)dup2(instance->root, STDOUT_FILENO);
    (void)syscall(SYS_close_range, STDERR_FILENO, ~0U, 0U);
    end.fd = STDIN_FILENO;
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    _exit(!remove_named(STDOUT_FILENO, instance->name));
}

static bool start_guard(struct instance *instance)
{
    const int watched = (int)syscall(SYS_pidfd_open, getpid(), 0);
    instance->guard = watched < 0 ? -1 : fork();
    if (instance->guard == 0)
        guard(watched, instance);
    if (watched >= 0)
        close(watched);
    return instance->guard > 0;
}

static void end_guard(struct instance *instance)
{
    if (instance->guard <= 0)
        return;
    (void)kill(instance->guard, SIGKILL);
    while (waitpid(instance->guard, NULL, 0) < 0 && errno == EINTR)
        ;
    instance->guard = -1;
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
    return start_guard(instance) && mkdirat(instance->root, path, 0700) == 0;
}

bool instance_make(struct instance *instance)
{
    *instance = (struct instance){.root = tracing_open(), .guard = -1};
    if (instance->root < 0)
        return false;
    remove_unused(instance->root);
    if (name_and_make(instance))
        return true;
    const int error = errno;
    end_guard(instance);
    close(instance->root);
    instance->root = -1;
    errno = error;
    return false;
}

void instance_remove(struct instance *instance)
{
    if (instance->root < 0)
        return;
    (void)remove_named(instance->root, instance->name);
    end_guard(instance);
    close(instance->root);
    instance->root = -1;
}
