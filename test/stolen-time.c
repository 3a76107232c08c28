/* stolen-time - the time that the host took from threads while a command ran
 *
 * usage: stolen-time FILE TID... -- COMMAND [ARGUMENT...]
 *
 * Writes one line `TID US` for each thread to FILE. The exit status is the command's, or 125.
 *
 * A hypervisor may stop a CPU while a thread runs on it. The scheduler's clock leaves this time out
 * (paravirtual steal time, update_rq_clock_task in the kernel): schedstat does not count it, and
 * neither does the runtime of a reservation. The clock of the traced events has it. The counter
 * "task-clock" of perf uses the same clock as the events. So the difference between this counter
 * and schedstat is the time that the host took. Where no hypervisor takes time, it is about 0. */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16, FAILED = 125 };

static struct followed {
    pid_t tid;
    int counter;
    int64_t stolen; /* the counter minus schedstat when the command began, ns */
} followed[THREADS];

static int64_t cpu_time(pid_t tid)
{
    char path[64];
    int64_t time = -1;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    FILE *in = fopen(path, "re");
    if (in == NULL || fscanf(in, "%" SCNd64, &time) != 1)
        fprintf(stderr, "stolen-time: %s: %s\n", path, strerror(errno));
    if (in != NULL)
        fclose(in);
    return time;
}

/* Puts the counter minus schedstat into *difference, ns. While a thread runs, schedstat is up to a
 * tick old. So this function waits for a moment at which the thread does not run: a reserved thread
 * that never sleeps is throttled in each period. */
static bool read_difference(const struct followed *thread, int64_t *difference)
{
    static const struct timespec interval = {.tv_nsec = 300000};
    int64_t before, after;
    for (int i = 0; i < 10000; i++) {
        if (read(thread->counter, &before, sizeof before) != sizeof before)
            break;
        const int64_t used = cpu_time(thread->tid);
        if (used < 0 || read(thread->counter, &after, sizeof after) != sizeof after)
            break;
        *difference = after - used;
        if (before == after)
            return true;
        nanosleep(&interval, NULL);
    }
    fprintf(stderr, "stolen-time: no count of thread %d\n", (int)thread->tid);
    return false;
}

static bool follow(struct followed *thread, pid_t tid)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_TASK_CLOCK};
    thread->tid = tid;
    thread->counter = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return read_difference(thread, &thread->stolen);
}

static bool write_result(FILE *out, const struct followed *thread)
{
    int64_t now;
    return read_difference(thread, &now) &&
           fprintf(out, "%d %" PRId64 "\n", (int)thread->tid, (now - thread->stolen) / 1000) > 0;
}

static int run(char **command)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    int count = 0, at = 2;
    bool good = true;
    for (; at < argc && strcmp(argv[at], "--") != 0 && count < THREADS; at++)
        good = follow(&followed[count++], atoi(argv[at])) && good;
    if (count == 0 || at + 1 >= argc || strcmp(argv[at], "--") != 0)
        return EX_USAGE;
    const int status = run(argv + at + 1);
    FILE *out = fopen(argv[1], "we");
    for (int i = 0; i < count; i++)
        good = out != NULL && write_result(out, &followed[i]) && good;
    return good && fclose(out) == 0 ? status : FAILED;
}
