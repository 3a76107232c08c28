#include "every-loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "command-line.h"
#include "every.h"
#include "every-child.h"
#include "every-spec.h"

/* True if the loop waits in read(2) for the next line on its standard input. True also if /proc
 * does not show the system call. */
static bool is_waiting(pid_t child)
{
    char path[48], text[128];
    snprintf(path, sizeof path, "/proc/%d/syscall", child);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return true;
    text[length] = '\0';
    char *rest;
    const long call = strtol(text, &rest, 10);
    return rest != text && call == SYS_read && strtoul(rest, NULL, 16) == STDIN_FILENO;
}

/* Activates the loop: writes a line to its standard input. Writes nothing if the loop has not read
 * the last line yet. */
static void activate(pid_t child, int output, int64_t activation)
{
    int unread = 0;
    const int64_t late = every_now() - activation;
    if (late > every.tally.worst)
        every.tally.worst = late;
    if (ioctl(output, FIONREAD, &unread) == 0 && unread > 0) {
        every.tally.skipped++;
        return;
    }
    every.tally.missed += every.tally.activations > 0 && !is_waiting(child);
    every.tally.activations++;
    const unsigned long long number = every.tally.activations,
                             not_in_time = every.tally.missed + every.tally.skipped;
    dprintf(output, "%llu %lld %llu\n", number, (long long)late, not_in_time);
}

static int periodic_timer(int64_t first)
{
    const int64_t period = (int64_t)every.options.period;
    const struct itimerspec times = {.it_value = {.tv_sec = first / 1000000,
                                                  .tv_nsec = first % 1000000 * 1000},
                                     .it_interval = {.tv_sec = period / 1000000,
                                                     .tv_nsec = period % 1000000 * 1000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &times, NULL);
    return fd;
}

/* Activates the loop once a period. Returns when the loop has ended, or after the last activation;
 * then the caller closes the loop's standard input, so that the loop ends. */
static void keep_time(pid_t child, int output)
{
    int64_t activation = every_now() + 1000; /* gives the loop time to start */
    struct pollfd fds[] = {{.fd = periodic_timer(activation), .events = POLLIN},
                           {.fd = every_pidfd(child), .events = POLLIN},
                           {.fd = every.signals, .events = POLLIN}};
    bool ends = fds[0].fd < 0 || fds[1].fd < 0;
    while (!ends && every_may_go_on()) {
        uint64_t expirations = 0;
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            break;
        if (fds[2].revents != 0)
            every_take_signal(child);
        ends = fds[1].revents != 0;
        if (ends || read(fds[0].fd, &expirations, sizeof expirations) != sizeof expirations)
            continue;
        every.tally.skipped += expirations - 1;
        activation += (int64_t)(expirations - 1) * (int64_t)every.options.period;
        if (every.options.until != 0 && activation >= every.options.until)
            break;
        activate(child, output, activation);
        activation += (int64_t)every.options.period;
    }
    close(fds[0].fd);
    close(fds[1].fd);
}

int every_run_loop(void)
{
    int input[2], gate;
    if (pipe2(input, O_CLOEXEC | O_NONBLOCK) != 0 || fcntl(input[0], F_SETFL, 0) != 0) {
        command_say("pipe: %s", strerror(errno));
        return EXIT_OURS;
    }
    pid_t child = every_start_child(input[0], &gate);
    bool good = child > 0 && every_reserve(child);
    if (child < 0)
        command_say("cannot start a process: %s", strerror(errno));
    if (good)
        every_open_gate(gate, every_now());
    if (gate >= 0)
        close(gate);
    if (good)
        keep_time(child, input[1]);
    close(input[1]);
    int status = child > 0 ? every_finish(child) : EXIT_OURS;
    close(input[0]);
    return good ? status : EXIT_OURS;
}
