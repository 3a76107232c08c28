#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench.h"
#include "broker.h"

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0)
        err(EX_CANTCREAT, "%s", path);
}

/* Waits until the broker reads its FIFO. */
static void wait_until_it_serves(const struct broker *broker)
{
    char alive[192];
    snprintf(alive, sizeof alive, "%s/alive", broker->spool);
    for (int fd; (fd = open(alive, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 || close(fd) != 0;) {
        if (waitpid(broker->pid, NULL, WNOHANG) == broker->pid)
            errx(EX_SOFTWARE, "the broker did not start: see %s/broker.err", broker->top);
        (void)poll(NULL, 0, 1);
    }
}

void broker_make(struct broker *broker, const char *where, const char *plugins)
{
    char config[96], rules[4096];
    *broker = (struct broker){0};
    snprintf(broker->top, sizeof broker->top, "%.40s/rtf-bench.XXXXXX", where);
    if (mkdtemp(broker->top) == NULL || chmod(broker->top, 0755) != 0)
        err(EX_CANTCREAT, "%s", broker->top);
    snprintf(broker->spool, sizeof broker->spool, "%s/spool", broker->top);
    snprintf(broker->specs, sizeof broker->specs, "%s/specs", broker->spool);
    snprintf(config, sizeof config, "%s/etc", broker->top);
    if (mkdir(config, 0755) != 0)
        err(EX_CANTCREAT, "%s", config);
    write_file(config, "plugins.conf", plugins);
    int length =
        snprintf(rules, sizeof rules, "%d - max_utilization 100000\n%d - max_utilization 100000\n",
                 USER, FILLER);
    for (int uid = CROWD; uid < CROWD + CROWD_USERS; uid++)
        length += snprintf(rules + length, sizeof rules - (size_t)length,
                           "%d - max_utilization 100000\n", uid);
    write_file(config, "acl.conf", rules);
}

void broker_start(struct broker *broker, const char *build)
{
    char config[96], program[PATH_MAX], errors[96], group[16];
    snprintf(config, sizeof config, "%s/etc", broker->top);
    snprintf(errors, sizeof errors, "%s/broker.err", broker->top);
    snprintf(program, sizeof program, "%s/libexec/rtf-brokerd", build);
    snprintf(group, sizeof group, "%d", GROUP);
    broker->pid = fork();
    if (broker->pid < 0)
        err(EX_OSERR, "fork");
    if (broker->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (freopen(errors, "a", stderr) == NULL)
            _exit(EX_CANTCREAT);
        execl(program, program, "--foreground", "--spool", broker->spool, "--config", config,
              "--group", group, "--max-specs", "200000", (char *)NULL);
        _exit(EX_UNAVAILABLE);
    }
    wait_until_it_serves(broker);
}

void broker_stop(struct broker *broker)
{
    if (broker->pid > 0 && kill(broker->pid, SIGTERM) == 0)
        (void)waitpid(broker->pid, NULL, 0);
    broker->pid = 0;
}

void broker_remove(const struct broker *broker)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", broker->top, (char *)NULL);
        _exit(EX_UNAVAILABLE);
    }
    (void)waitpid(child, NULL, 0);
}

/* Returns a number of /proc/PID/status. */
static uint64_t status_number(pid_t pid, const char *key)
{
    char path[64], line[256];
    uint64_t number = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtoull(line + strlen(key), NULL, 10);
    if (file != NULL)
        fclose(file);
    return number;
}

static void each_part(pid_t pid, void (*each)(pid_t pid, void *context), void *context)
{
    char path[64];
    int child;
    each(pid, context);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%d", &child) == 1)
        each_part(child, each, context);
    if (file != NULL)
        fclose(file);
}

struct sum {
    const char *key;
    uint64_t of;
};

static void add_number(pid_t pid, void *context)
{
    struct sum *sum = context;
    sum->of += status_number(pid, sum->key);
}

uint64_t broker_sum(pid_t pid, const char *key)
{
    struct sum sum = {key, 0};
    each_part(pid, add_number, &sum);
    return sum.of;
}

static void await_reader(pid_t pid, void *context)
{
    char path[64], name[32] = "";
    (void)context;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    const bool is_reader =
        file != NULL && fgets(name, sizeof name, file) != NULL && strcmp(name, "rtf-reader\n") == 0;
    if (file != NULL)
        fclose(file);
    struct pollfd end = {.fd = is_reader ? (int)syscall(SYS_pidfd_open, pid, 0) : -1,
                         .events = POLLIN};
    if (end.fd < 0)
        return;
    (void)poll(&end, 1, -1);
    close(end.fd);
}

void broker_await_readers(const struct broker *broker)
{
    each_part(broker->pid, await_reader, NULL);
}

static void pin_one(pid_t pid, void *context)
{
    (void)sched_setaffinity(pid, sizeof(cpu_set_t), context);
}

void broker_pin(const struct broker *broker, int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    each_part(broker->pid, pin_one, &one);
}
