#include "check-kept.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "fatal.h"
#include "allocators.h"
#include "process.h"

/* Runs a program, and sets `said` to the first line that the program writes to standard error.
 * False: the exit status is not 0. */
static bool check_kept_ask(char *const words[], char said[static REASON_BYTES])
{
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO) != 0)
        die_errno(EX_OSERR, "pipe");
    const int error = posix_spawn(&child, words[0], &actions, NULL, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    const ssize_t got = error != 0 ? -1 : read(ends[0], said, REASON_BYTES - 1);
    said[got < 0 ? 0 : got] = '\0';
    said[strcspn(said, "\n")] = '\0';
    close(ends[0]);
    if (error != 0)
        snprintf(said, REASON_BYTES, "%.200s: %s", words[0], strerror(error));
    return error == 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Asks the helper program that would serve the line, because only this program knows which
 * interfaces and disks it cannot take. */
static bool would_be_kept(const struct plugin_line *line, char reason[static REASON_BYTES])
{
    const enum kept kept = kept_by(line);
    char *words[5] = {program_path(kept == KEPT_NETWORK ? "rtf-net" : "rtf-disk")};
    int count = 1;
    if (kept == KEPT_IOPRIO)
        words[count++] = "--ioprio";
    words[count++] = "--check";
    words[count] = (char *)line->where;
    return check_kept_ask(words, reason);
}

bool check_kept(void)
{
    char reason[REASON_BYTES];
    bool all = true;
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        if (kept_by(line) == KEPT || would_be_kept(line, reason))
            continue;
        const char *why = strstr(reason, ": ");
        fprintf(stderr, "plugins.conf:%d: %s would be off: %s\n", line->line, line->name,
                why == NULL ? reason : why + 2);
        all = false;
    }
    return all;
}
