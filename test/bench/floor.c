#include "floor.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

/* lengths of most requests to a plugin, and of their answers, records and verdicts */
enum { QUESTION = 200, REPLY = 60, RECORD = 450, VERDICT = 760 };

static int coprocess_start(void)
{
    char bytes[QUESTION];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        err(EX_OSERR, "socketpair");
    pid_t child = fork();
    if (child < 0)
        err(EX_OSERR, "fork");
    if (child > 0) {
        close(ends[0]);
        return ends[1];
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[1]);
    while (read(ends[0], bytes, sizeof bytes) > 0)
        if (write(ends[0], bytes, REPLY) != REPLY)
            break;
    _exit(0);
}

static size_t compose(char *text, size_t room, const char *json, size_t length)
{
    json_error_t error;
    json_t *spec = json_loadb(json, length, JSON_REJECT_DUPLICATES, &error);
    json_t *refusal = json_null();
    json_t *replies =
        json_pack("[{s:s, s:s, s:o}]", "plugin", "EDF", "answer", "ok", "reason", json_null());
    json_t *grant = json_pack("{s:s, s:s, s:s, s:o, s:I, s:o, s:I, s:I, s:I, s:I}", "plugin", "EDF",
                              "policy", "deadline", "cpus", "0-1", "priority", json_null(),
                              "runtime", (json_int_t)1000, "desired_runtime", json_null(),
                              "accepted_runtime", (json_int_t)1000, "period", (json_int_t)100000,
                              "deadline", (json_int_t)100000, "utilization", (json_int_t)10000000);
    json_t *verdict =
        json_pack("{s:s, s:o, s:{s:I, s:s}, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "request",
                  "create", "token", json_null(), "spec", "inode", (json_int_t)4711, "changed",
                  "1795213893.700001680", "tid", json_null(), "result", "OK", "reason",
                  "EDF grants it", "refusal", refusal, "replies", replies, "grant", grant, "thread",
                  json_null(), "time", "2026-11-20T22:31:31.042534Z");
    size_t made = json_dumpb(verdict, text, room, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(verdict);
    json_decref(spec);
    return made;
}

static void answer(int directory, int stage, int coprocess, int journal, unsigned parts)
{
    char spec[4096], verdict[4096] = "{}", bytes[RECORD] = "";
    size_t made = VERDICT;
    int fd = openat(directory, "b.json", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, spec, sizeof spec);
    close(fd);
    if (length < 0)
        return;
    if ((parts & FLOOR_COPROCESS) != 0 && (write(coprocess, spec, QUESTION) != QUESTION ||
                                           read(coprocess, bytes, sizeof bytes) != REPLY))
        err(EX_OSERR, "the co-process");
    if ((parts & FLOOR_JSON) != 0)
        made = compose(verdict, sizeof verdict, spec, (size_t)length);
    if ((parts & FLOOR_JOURNAL) != 0 && write(journal, bytes, sizeof bytes) != sizeof bytes)
        err(EX_OSERR, "the journal");
    fd = openat(stage, "b", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, verdict, made) != (ssize_t)made)
        err(EX_OSERR, "a verdict");
    close(fd);
    if (renameat(stage, "b", directory, "b.verdict") != 0)
        err(EX_OSERR, "a verdict");
}

static void __attribute__((noreturn))
serve(int directory, int stage, int watch, int coprocess, int journal, unsigned parts)
{
    static char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    for (;;) {
        ssize_t got = read(watch, events, sizeof events);
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(events + at);
            at += (ssize_t)(sizeof *event + event->len);
            if (event->len > 0 && strcmp(event->name, "b.json") == 0)
                answer(directory, stage, coprocess, journal, parts);
        }
    }
}

pid_t floor_start(const char *directory, const char *stage, uid_t uid, unsigned parts)
{
    char journal_name[PATH_MAX];
    if (mkdir(directory, 0700) != 0 || chown(directory, uid, uid) != 0 ||
        (mkdir(stage, 0700) != 0 && errno != EEXIST))
        err(EX_CANTCREAT, "%s", directory);
    snprintf(journal_name, sizeof journal_name, "%s.journal", directory);
    int watch = inotify_init1(IN_CLOEXEC), directory_fd = open(directory, O_PATH | O_CLOEXEC),
        stage_fd = open(stage, O_PATH | O_CLOEXEC);
    int journal = open(journal_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (inotify_add_watch(watch, directory, IN_MOVED_TO) < 0 || directory_fd < 0 || stage_fd < 0 ||
        journal < 0)
        err(EX_OSERR, "%s", directory);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(directory_fd, stage_fd, watch,
              (parts & FLOOR_COPROCESS) != 0 ? coprocess_start() : -1, journal, parts);
    }
    close(watch);
    close(directory_fd);
    close(stage_fd);
    close(journal);
    return child;
}
