/* users first SPECS GROUP FIRST USERS: makes so many users' directories, with uids from FIRST on,
 * waits until the users' readers have ended (a line on standard input says so), and then has each
 * user spec for the first time, one after another. Prints the 10th, 50th, 90th, 99th percentile and
 * the longest time from the rename of a spec to its verdict, in us.
 *
 * users all SPECS GROUP FIRST USERS: all of them change that spec at once, again and again, each
 * about once a second, and once more when standard input has ended. Prints the number of verdicts
 * when each user has had one, and at the end.
 *
 * Needs root; the files belong to their users. Exit status 1: a spec was refused. */
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

enum { USERS_MAX = 4000 };
static const char *specs;
static gid_t group;
static uid_t first;
static int users, events = -1;
static char input[1 << 16] __attribute__((aligned(__alignof__(struct inotify_event))));

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

static void enter(int user)
{
    char directory[512];
    snprintf(directory, sizeof directory, "%s/%u", specs, first + (uid_t)user);
    if (seteuid(0) != 0 || setegid(group) != 0 || seteuid(first + (uid_t)user) != 0)
        fail("become a user");
    if ((mkdir(directory, 0700) != 0 && errno != EEXIST) || chdir(directory) != 0)
        fail(directory);
}

static int watch(void)
{
    const int one = inotify_add_watch(events, ".", IN_MOVED_TO);
    if (one < 0)
        fail("inotify");
    return one;
}

/* Writes a spec, and returns the time. The file's name begins with a dot until the file is
 * complete. */
static int64_t spec(int priority)
{
    char text[64];
    const int length = snprintf(text, sizeof text, "{\"priority\": %d}", priority),
              fd = open(".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        fail("a spec");
    close(fd);
    const int64_t time = now();
    if (rename(".new", "cam.json") != 0)
        fail("cam.json");
    return time;
}

static bool is_granted(void)
{
    char text[4096];
    const int fd = open("cam.verdict", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length < 0 ? 0 : length] = '\0';
    return strstr(text, "\"OK\"") != NULL;
}

/* Takes the verdicts that come within this time; marks each watch that has seen a verdict. */
static int take_verdicts(int milliseconds, void (*tell)(int watched))
{
    struct pollfd one = {.fd = events, .events = POLLIN};
    int count = 0;
    if (poll(&one, 1, milliseconds) != 1)
        return 0;
    const ssize_t length = read(events, input, sizeof input);
    for (ssize_t at = 0; at < length;) {
        const struct inotify_event *event = (const void *)(input + at);
        at += (ssize_t)(sizeof *event + event->len);
        if (event->len == 0 || strcmp(event->name, "cam.verdict") != 0)
            continue;
        count++;
        if (tell != NULL)
            tell(event->wd);
    }
    return count;
}

static int compare(const void *one, const void *other)
{
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static bool measure_first(void)
{
    static int64_t times[USERS_MAX];
    bool granted = true;
    for (int user = 0; user < users; user++)
        enter(user);
    (void)getchar();
    for (int user = 0; user < users; user++) {
        enter(user);
        const int one = watch();
        const int64_t begun = spec(5);
        while (take_verdicts(1000, NULL) == 0)
            if (now() - begun > INT64_C(20000000000))
                fail("no verdict");
        times[user] = now() - begun;
        granted = granted && is_granted();
        (void)inotify_rm_watch(events, one);
        while (read(events, input, sizeof input) > 0)
            ;
    }
    qsort(times, (size_t)users, sizeof *times, compare);
    static const int percentiles[] = {10, 50, 90, 99};
    for (int i = 0; i < 4; i++)
        printf("%d ", (int)(times[users * percentiles[i] / 100] / 1000));
    printf("%d\n", (int)(times[users - 1] / 1000));
    return granted;
}

static bool has_one[USERS_MAX + 1];
static int with_one;
static void count(int watched)
{
    if (watched < 1 || watched > USERS_MAX || has_one[watched])
        return;
    has_one[watched] = true;
    with_one++;
}

static bool has_ended(void)
{
    struct pollfd one = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

static bool keep_all_active(void)
{
    int verdicts = 0;
    bool told = false, granted = true, last = false;
    for (int user = 0; user < users; user++) {
        enter(user);
        (void)watch();
    }
    for (int round = 0; !last; round++) {
        last = has_ended();
        const int64_t until = now() + INT64_C(1000000000);
        for (int user = 0; user < users; user++) {
            enter(user);
            (void)spec(1 + round % 9);
        }
        for (int64_t left; (left = until - now()) > 0;)
            verdicts += take_verdicts((int)(left / 1000000) + 1, count);
        if (!told && with_one == users) {
            printf("%d\n", verdicts);
            (void)fflush(stdout);
            told = true;
        }
    }
    for (int user = 0; user < users; user++) {
        enter(user);
        granted = granted && is_granted();
    }
    printf("%d\n", verdicts);
    return told && granted;
}

int main(int words, char **word)
{
    users = words == 6 ? atoi(word[5]) : 0;
    if (users < 1 || users > USERS_MAX) {
        fprintf(stderr, "usage: users first|all SPECS GROUP FIRST USERS\n");
        return 64;
    }
    specs = word[2];
    group = (gid_t)atoi(word[3]);
    first = (uid_t)atoi(word[4]);
    umask(0077);
    events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (events < 0 || setgroups(1, &group) != 0)
        fail("begin");
    return (strcmp(word[1], "first") == 0 ? measure_first() : keep_all_active()) ? 0 : 1;
}
