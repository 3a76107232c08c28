/* single SPECS GROUP UID MILLISECONDS PID...: for so long, one user makes a small spec, waits for
 * its verdict, releases the spec, waits until the release is done, and pauses. Prints a line for
 * each spec: the time from the spec's file to its verdict; then for the user's own process and for
 * each PID how long the process ran and how long it waited for a CPU meanwhile, as the kernel
 * counts it. All times are in us. Needs root. Exit status 1: a spec was refused. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "samples.h"

enum { PROCESSES_MAX = 16, PATIENCE = 20 }; /* s: the longest wait for a verdict */
static const int64_t millisecond = 1000000, pause_ns = 5000000;

struct account {
    long long ran, waited;
};

static int accounts[PROCESSES_MAX], processes;

static void open_account(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/schedstat", pid);
    accounts[processes++] = open(path, O_RDONLY | O_CLOEXEC);
}

/* A process may end, as a reader does; then its figures stay as they are. */
static void look(struct account looked[static PROCESSES_MAX])
{
    char text[128];
    for (int i = 0; i < processes; i++) {
        const ssize_t length = pread(accounts[i], text, sizeof text - 1, 0);
        text[length < 0 ? 0 : length] = '\0';
        (void)sscanf(text, "%lld %lld", &looked[i].ran, &looked[i].waited);
    }
}

static bool ask_once(struct client *client)
{
    struct account before[PROCESSES_MAX] = {0}, after[PROCESSES_MAX];
    alarm(PATIENCE);
    look(before);
    memcpy(after, before, sizeof after);
    const int64_t took =
        client_put(client, "s.json", "{\"runtime\": \"1ms\", \"period\": \"10ms\"}");
    look(after);
    printf("%lld", (long long)took / 1000);
    for (int i = 0; i < processes; i++)
        printf(" %lld %lld", (after[i].ran - before[i].ran) / 1000,
               (after[i].waited - before[i].waited) / 1000);
    printf("\n");
    (void)client_release(client, "s.json");
    return client_says(client, "\"result\":\"OK\"");
}

int main(int words, char **word)
{
    struct client client;
    char directory[512];
    bool granted = true;
    if (words < 5 || words - 4 > PROCESSES_MAX)
        errx(EX_USAGE, "usage: single SPECS GROUP UID MILLISECONDS PID...");
    open_account("self");
    for (int i = 5; i < words; i++)
        open_account(word[i]);
    become_user((uid_t)atoi(word[3]), (gid_t)atoi(word[2]));
    snprintf(directory, sizeof directory, "%s/%s", word[1], word[3]);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        err(EX_CANTCREAT, "%s", directory);
    client_open(&client, directory);
    const int64_t end = now() + atoi(word[4]) * millisecond;
    while (now() < end) {
        granted &= ask_once(&client);
        (void)nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    }
    return granted ? 0 : 1;
}
