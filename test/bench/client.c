#include "client.h"

#include <err.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "samples.h"

void client_open(struct client *client, const char *directory)
{
    client->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)mkdirat(client->directory, ".aside", 0700);
    client->aside = openat(client->directory, ".aside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    client->watch = inotify_init1(IN_CLOEXEC);
    if (client->directory < 0 || client->aside < 0 ||
        inotify_add_watch(client->watch, directory, IN_MOVED_TO | IN_DELETE) < 0)
        err(EX_NOINPUT, "%s", directory);
}

void client_close(struct client *client)
{
    close(client->directory);
    close(client->aside);
    close(client->watch);
}

static void expect(struct client *client, const char *file)
{
    snprintf(client->answer, sizeof client->answer, "%.*s.verdict", (int)strcspn(file, "."), file);
}

static void wait_for_verdict(const struct client *client, uint32_t what)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    for (;;) {
        ssize_t got = read(client->watch, events, sizeof events);
        if (got <= 0)
            err(EX_OSERR, "inotify");
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(events + at);
            at += (ssize_t)(sizeof *event + event->len);
            if ((event->mask & what) != 0 && event->len > 0 &&
                strcmp(event->name, client->answer) == 0)
                return;
        }
    }
}

static void read_verdict(struct client *client)
{
    wait_for_verdict(client, IN_MOVED_TO);
    int fd = openat(client->directory, client->answer, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, client->verdict, sizeof client->verdict - 1);
    if (got < 0)
        err(EX_NOINPUT, "a verdict");
    client->verdict[got] = '\0';
    close(fd);
}

static int64_t put(struct client *client, int from, const char *file, const char *text)
{
    expect(client, file);
    int64_t begun = now();
    int fd = openat(from, ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        err(EX_CANTCREAT, "a spec");
    close(fd);
    if (renameat(from, ".new", client->directory, file) != 0)
        err(EX_CANTCREAT, "%s", file);
    read_verdict(client);
    return now() - begun;
}

int64_t client_put(struct client *client, const char *file, const char *text)
{
    return put(client, client->aside, file, text);
}

int64_t client_put_from_beside(struct client *client, const char *file, const char *text)
{
    return put(client, client->directory, file, text);
}

int64_t client_detach(struct client *client)
{
    expect(client, "b.tid");
    int64_t begun = now();
    if (unlinkat(client->directory, "b.tid", 0) != 0)
        err(EX_OSERR, "b.tid");
    read_verdict(client);
    return now() - begun;
}

int64_t client_release(struct client *client, const char *file)
{
    expect(client, file);
    int64_t begun = now();
    if (unlinkat(client->directory, file, 0) != 0)
        err(EX_OSERR, "%s", file);
    wait_for_verdict(client, IN_DELETE);
    return now() - begun;
}

bool client_says(const struct client *client, const char *text)
{
    return strstr(client->verdict, text) != NULL;
}

void become_user(uid_t uid, gid_t group)
{
    if (setgroups(1, &group) != 0 || setgid(uid) != 0 || setuid(uid) != 0)
        err(EX_NOPERM, "to be uid %u", uid);
}

void pin(int cpu)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (cpu < 0 || i == cpu)
            CPU_SET((size_t)i, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        err(EX_OSERR, "CPU %d", cpu);
}
