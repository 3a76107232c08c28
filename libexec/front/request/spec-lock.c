#include "spec-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"

static int open_spec(const struct client *client, const char *name)
{
    char file[CLIENT_NAME_MAX + sizeof ".json"];
    snprintf(file, sizeof file, "%s.json", name);
    return openat(client->directory, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void is_late(int signal)
{
    (void)signal; /* does nothing: the signal only makes flock(2) end with EINTR */
}

/* Makes SIGALRM end a flock(2) after this time, us. time 0: turns SIGALRM off. SIGALRM comes again
 * every 0.1 s, because the first signal may come just before flock(2) begins. */
static void set_alarm(uint64_t time)
{
    const struct sigaction action = {.sa_handler = time != 0 ? is_late : SIG_DFL};
    const struct itimerval at = {.it_value = {.tv_sec = (time_t)(time / 1000000),
                                              .tv_usec = (suseconds_t)(time % 1000000)},
                                 .it_interval = {.tv_usec = time != 0 ? 100000 : 0}};
    if (time != 0)
        sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &at, NULL);
    if (time == 0)
        sigaction(SIGALRM, &action, NULL);
}

static void wait_for_other(const char *name, uint64_t timeout, int fd)
{
    set_alarm(timeout);
    const bool is_over = flock(fd, LOCK_EX) == 0;
    set_alarm(0);
    close(fd);
    if (!is_over)
        command_fail(
            EX_TEMPFAIL,
            "%s: another command is changing this spec, and has not ended within the time allowed",
            name);
}

bool spec_lock(const struct client *client, const char *name, uint64_t timeout, int *lock)
{
    spec_unlock(lock);
    for (;;) {
        spec_begin(client);
        const int fd = open_spec(client, name);
        const bool is_ours = fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
        (void)flock(client->directory, LOCK_UN);
        if (fd < 0 || is_ours) {
            *lock = fd;
            return fd >= 0;
        }
        wait_for_other(name, timeout, fd);
    }
}

void spec_unlock(int *lock)
{
    if (*lock >= 0)
        close(*lock);
    *lock = -1;
}

void spec_begin(const struct client *client)
{
    while (flock(client->directory, LOCK_EX) != 0 && errno == EINTR)
        ;
}

void spec_end(const struct client *client, const char *name, int *lock)
{
    const int fd = open_spec(client, name);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB);
    spec_unlock(lock);
    *lock = fd;
    (void)flock(client->directory, LOCK_UN);
}
