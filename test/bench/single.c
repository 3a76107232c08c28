/* single SPECS GROUP UID MILLISECONDS PID...: one user, who asks for little: makes a spec, waits for its verdict, gives it back, waits until that is done, and
 * pauses, for so long. A line for each spec: the time from its rename to its verdict; then for the user's own process and each PID how long it ran
 * and how long it waited for a CPU meanwhile, as the kernel counts it. All in us. To be started as root. Exit status 1: a spec was refused. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MAX = 16, PATIENCE = 20000 };
static const int64_t second = 1000000000, pause_ns = 5000000;
static const char spec[] = "{\"runtime\": \"1ms\", \"period\": \"10ms\"}";

struct account {
    long long ran, waited;
};

static int accounts[PROCESSES_MAX], processes, events;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * second + time.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(71);
}

static void open_account(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/schedstat", pid);
    accounts[processes++] = open(path, O_RDONLY | O_CLOEXEC);
}

/* One that has ended, as a reader may, counts no more. */
static void look(struct account looked[static PROCESSES_MAX])
{
    char text[128];
    for (int i = 0; i < processes; i++) {
        const ssize_t length = pread(accounts[i], text, sizeof text - 1, 0);
        text[length < 0 ? 0 : length] = '\0';
        (void)sscanf(text, "%lld %lld", &looked[i].ran, &looked[i].waited);
    }
}

static void become(const char *specs, uid_t uid, gid_t group)
{
    char directory[512];
    snprintf(directory, sizeof directory, "%s/%u", specs, uid);
    if (setgroups(1, &group) != 0 || setgid(uid) != 0 || setuid(uid) != 0)
        fail("become a user");
    if ((mkdir(directory, 0700) != 0 && errno != EEXIST) || chdir(directory) != 0)
        fail(directory);
    events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (events < 0 || inotify_add_watch(events, ".", IN_MOVED_TO | IN_DELETE) < 0)
        fail("inotify");
}

static void wait_until(bool there)
{
    char bytes[4096];
    struct pollfd one = {.fd = events, .events = POLLIN};
    while ((access("s.verdict", F_OK) == 0) != there) {
        if (poll(&one, 1, PATIENCE) != 1)
            fail("no verdict");
        while (read(events, bytes, sizeof bytes) > 0)
            ;
    }
}

static bool is_granted(void)
{
    char text[4096];
    const int fd = open("s.verdict", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length < 0 ? 0 : length] = '\0';
    return strstr(text, "\"OK\"") != NULL;
}

static void write_spec(void)
{
    const int fd = open(".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, spec, sizeof spec - 1) != sizeof spec - 1)
        fail("a spec");
    close(fd);
}

static bool ask_once(void)
{
    struct account before[PROCESSES_MAX] = {0}, after[PROCESSES_MAX];
    write_spec();
    look(before);
    memcpy(after, before, sizeof after);
    const int64_t begun = now();
    if (rename(".new", "s.json") != 0)
        fail("s.json");
    wait_until(true);
    const int64_t took = now() - begun;
    look(after);
    printf("%lld", (long long)took / 1000);
    for (int i = 0; i < processes; i++)
        printf(" %lld %lld", (after[i].ran - before[i].ran) / 1000, (after[i].waited - before[i].waited) / 1000);
    printf("\n");
    const bool granted = is_granted();
    (void)unlink("s.json");
    wait_until(false);
    return granted;
}

int main(int words, char **word)
{
    if (words < 5 || words - 4 > PROCESSES_MAX) {
        fprintf(stderr, "usage: single SPECS GROUP UID MILLISECONDS PID...\n");
        return 64;
    }
    open_account("self");
    for (int i = 5; i < words; i++)
        open_account(word[i]);
    umask(0077);
    become(word[1], (uid_t)atoi(word[3]), (gid_t)atoi(word[2]));
    const int64_t end = now() + atoi(word[4]) * second / 1000;
    bool granted = true;
    while (now() < end) {
        granted &= ask_once();
        (void)nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    }
    return granted ? 0 : 1;
}
