#include "every-command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command-line.h"
#include "every.h"
#include "every-child.h"
#include "every-spec.h"

/* us: rtf-every attaches a process at most AHEAD and at least HASTE before its activation */
enum { AHEAD = 5000, HASTE = 500 };

/* Returns how long before its activation a process is attached, in us. The time is short, a quarter
 * of the runtime, because it counts against the runtime. */
static int64_t ahead(void)
{
    const int64_t part = (int64_t)every.options.runtime / 4;
    return part < HASTE ? HASTE : part > AHEAD ? AHEAD : part;
}

/* Starts and attaches a child, which waits at its gate for its activation. -1: the reason is
 * printed. The child is attached as late as possible. The kernel counts the bandwidth of the former
 * child until that child's 0-lag time, and has no room for the next child before. */
static pid_t ready_child(int64_t activation, int *gate)
{
    pid_t child = every_start_child(-1, gate);
    if (child < 0) {
        command_say("cannot start a process: %s", strerror(errno));
        return -1;
    }
    struct pollfd fd = {.fd = every.signals, .events = POLLIN};
    if (!every_sleep_until(activation - ahead(), &fd, 1) && every_put_thread(child) &&
        every_await(NULL, 0, every.options.timeout))
        return child;
    close(*gate);
    every_status(child);
    return -1;
}

/* Counts the run for this activation. The run began at `begun`, and has just ended. Returns the
 * time of the next activation. Skips the activations whose periods are over already. */
static int64_t book(int64_t activation, int64_t begun, int status)
{
    const int64_t period = (int64_t)every.options.period, end = every_now();
    const int64_t deadline = every.options.deadline != 0 ? (int64_t)every.options.deadline : period;
    every.tally.activations++;
    every.tally.failed += status != 0;
    every.tally.missed += end - activation > deadline;
    every.tally.longer += end - begun > period;
    every.tally.late += end - activation > deadline && end - begun <= deadline;
    if (end - activation > every.tally.worst)
        every.tally.worst = end - activation;
    const int64_t over = (end - activation) / period;
    every.tally.skipped += over > 0 ? (uint64_t)over : 0;
    return activation + (over + 1) * period;
}

int every_run_command(void)
{
    int64_t activation = 0;
    int status = 0, last = 0;
    if (!every_reserve(0))
        return EXIT_OURS;
    every.renewed = every_now();
    while (every_may_go_on()) {
        int gate;
        pid_t child = ready_child(activation, &gate);
        if (child < 0)
            return EXIT_OURS;
        activation = activation == 0 ? every_now() : activation;
        if (every.options.until != 0 && activation >= every.options.until) {
            close(gate);
            every_status(child);
            return last;
        }
        every_open_gate(gate, activation);
        close(gate);
        /* later than the activation if the child was attached late */
        const int64_t begun = every_now() > activation ? every_now() : activation;
        status = every_finish(child);
        activation = book(activation, begun, status);
        last = status != 0 ? status : last;
        if (status == EXIT_NOT_FOUND || status == EXIT_CANNOT_RUN ||
            (status != 0 && every.options.errexit))
            break;
    }
    return last;
}
