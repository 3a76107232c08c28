#include "broker.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0)
        err(EX_CANTCREAT, "%s", path);
}

/* Its FIFO has a reader. */
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

void broker_start(struct broker *broker, const char *build, const char *plugins, uid_t uid, gid_t group)
{
    char config[96], program[PATH_MAX], errors[96], rule[64], gid[16];
    snprintf(config, sizeof config, "%s/etc", broker->top);
    snprintf(errors, sizeof errors, "%s/broker.err", broker->top);
    snprintf(broker->spool, sizeof broker->spool, "%s/spool", broker->top);
    snprintf(broker->specs, sizeof broker->specs, "%s/specs", broker->spool);
    snprintf(program, sizeof program, "%s/libexec/rtf-brokerd", build);
    snprintf(gid, sizeof gid, "%u", group);
    if (mkdir(config, 0755) != 0 && errno != EEXIST)
        err(EX_CANTCREAT, "%s", config);
    write_file(config, "plugins.conf", plugins);
    snprintf(rule, sizeof rule, "%u - max_utilization 100000\n", uid);
    write_file(config, "acl.conf", rule);
    broker->pid = fork();
    if (broker->pid < 0)
        err(EX_OSERR, "fork");
    if (broker->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (freopen(errors, "w", stderr) == NULL)
            _exit(71);
        execl(program, program, "--foreground", "--spool", broker->spool, "--config", config, "--group", gid, "--max-wishes", "200000", (char *)NULL);
        _exit(127);
    }
    wait_until_it_serves(broker);
}

void broker_stop(struct broker *broker)
{
    if (broker->pid > 0 && kill(broker->pid, SIGTERM) == 0)
        (void)waitpid(broker->pid, NULL, 0);
    broker->pid = 0;
}
