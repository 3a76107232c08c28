/* clients SPECS GROUP FIRST USERS CLIENTS SECONDS: as many users, with uids from FIRST on, each
 * with so many clients. A client makes a spec, waits for its verdict, gives it back, waits until
 * that is done, and begins again: a client always has a pending request. Prints the 50th, 90th,
 * 99th percentile and the longest time to a verdict, in us, and the number of verdicts, without
 * those of the last user, who may be a flooder. Needs root. Exit status 1: a spec was refused. */
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MAX = 1000, SAMPLES = 100000 };
static const char spec[] = "{\"priority\": 5, \"plugin\": \"FP\"}";

/* The results of a user's process, for the first process. */
struct record {
    uint32_t count, refused;
    uint32_t us[SAMPLES];
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(71);
}

static int64_t begin(int client)
{
    char name[32];
    int fd = open(".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, spec, sizeof spec - 1) != sizeof spec - 1)
        fail("a spec");
    close(fd);
    snprintf(name, sizeof name, "c%d.json", client);
    int64_t time = now();
    if (rename(".new", name) != 0)
        fail(name);
    return time;
}

static bool is_granted(const char *name)
{
    char text[4096];
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length < 0 ? 0 : length] = '\0';
    return strstr(text, "\"OK\"") != NULL;
}

static void take(const struct inotify_event *event, int64_t *begun, struct record *record)
{
    char name[32];
    int client;
    if (event->len == 0 || sscanf(event->name, "c%d.verdict", &client) != 1 ||
        strstr(event->name, ".verdict") == NULL)
        return;
    if ((event->mask & IN_DELETE) != 0) {
        begun[client] = begin(client);
    } else if (begun[client] != 0) {
        if (record->count < SAMPLES)
            record->us[record->count++] = (uint32_t)((now() - begun[client]) / 1000);
        begun[client] = 0;
        record->refused += !is_granted(event->name);
        snprintf(name, sizeof name, "c%d.json", client);
        (void)unlink(name);
    }
}

static void be_user(const char *specs, uid_t uid, gid_t group, int clients, int64_t end,
                    struct record *record)
{
    static char events[1 << 16] __attribute__((aligned(__alignof__(struct inotify_event))));
    static int64_t begun[CLIENTS_MAX];
    char directory[512];
    snprintf(directory, sizeof directory, "%s/%u", specs, uid);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setgroups(1, &group) != 0 || setgid(uid) != 0 ||
        setuid(uid) != 0)
        fail("become a user");
    if ((mkdir(directory, 0700) != 0 && errno != EEXIST) || chdir(directory) != 0)
        fail(directory);
    struct pollfd watch = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
    if (inotify_add_watch(watch.fd, ".", IN_MOVED_TO | IN_DELETE) < 0)
        fail("inotify");
    for (int client = 0; client < clients; client++)
        begun[client] = begin(client);
    for (int64_t left; (left = end - now()) > 0;) {
        if (poll(&watch, 1, (int)(left / 1000000) + 1) != 1)
            continue;
        ssize_t length = read(watch.fd, events, sizeof events);
        for (ssize_t at = 0; at < length;) {
            const struct inotify_event *event = (const void *)(events + at);
            at += (ssize_t)(sizeof *event + event->len);
            take(event, begun, record);
        }
    }
    for (int client = 0; client < clients; client++) {
        snprintf(directory, sizeof directory, "c%d.json", client);
        (void)unlink(directory);
    }
}

static int compare(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

/* Prints the figures. True if all specs were granted. */
static bool report(const struct record *records, int users)
{
    size_t count = 0;
    uint32_t refused = 0, *all = calloc((size_t)users, SAMPLES * sizeof *all);
    if (all == NULL)
        fail("memory");
    for (int user = 0; user < users; user++) {
        memcpy(all + count, records[user].us, records[user].count * sizeof *all);
        count += records[user].count;
        refused += records[user].refused;
    }
    qsort(all, count, sizeof *all, compare);
    if (count > 0)
        printf("%u %u %u %u %zu\n", all[count / 2], all[count * 90 / 100], all[count * 99 / 100],
               all[count - 1], count);
    if (refused > 0)
        fprintf(stderr, "clients: %u of %zu specs were refused\n", refused, count);
    free(all);
    return count > 0 && refused == 0;
}

int main(int count, char **words)
{
    const int users = count == 7 ? atoi(words[4]) : 0;
    if (users < 2 || atoi(words[5]) > CLIENTS_MAX) {
        fprintf(stderr, "usage: clients SPECS GROUP FIRST USERS CLIENTS SECONDS\n");
        return 64;
    }
    int status;
    bool good = true;
    struct record *records = mmap(NULL, (size_t)users * sizeof *records, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (records == MAP_FAILED)
        fail("memory");
    int64_t end = now() + atoi(words[6]) * INT64_C(1000000000);
    for (int user = 0; user < users; user++) {
        pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0) {
            be_user(words[1], (uid_t)(atoi(words[3]) + user), (gid_t)atoi(words[2]), atoi(words[5]),
                    end, &records[user]);
            _exit(0);
        }
    }
    while (wait(&status) > 0)
        good = good && status == 0;
    return report(records, users - 1) && good ? 0 : 1;
}
