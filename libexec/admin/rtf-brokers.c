/* rtf-brokers(8): lists the running brokers of the register (lib/register.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "options.h"
#include "register.h"
#include "units.h"
#include "usage.h"
#include "version.h"

const char *argp_program_version = "rtf-brokers " RTF_VERSION;

enum { OPTION_JOURNALS = 256, OPTION_EXCEPT, RECORD_SEPARATOR = 036 };

struct wanted {
    const char *spool; /* NULL: all */
    pid_t except;
    bool journals;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct wanted *wanted = state->input;
    uint64_t number;
    switch (key) {
    case 's': wanted->spool = argument; return 0;
    case OPTION_JOURNALS: wanted->journals = true; return 0;
    case OPTION_EXCEPT:
        if (!parse_number(argument, INT32_MAX, &number))
            argp_error(state, "--except needs a process id");
        wanted->except = (pid_t)number;
        return 0;
    case ARGP_KEY_ARG: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Prints a path so that printf(1) restores it with %b. */
static void print_path(const char *path)
{
    for (const char *c = path; *c != '\0'; c++)
        if (*c >= ' ' && *c <= '~' && *c != '\\')
            putchar(*c);
        else
            printf("\\0%03o", (unsigned)(unsigned char)*c);
}

/* True if the broker's process is in the pid namespace of rtf-brokers. Then a thread id in the
 * broker's journal means the same thread here. */
static bool is_of_our_namespace(pid_t process)
{
    char path[64], theirs[64], ours[64];
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)process);
    const ssize_t length = readlink(path, theirs, sizeof theirs);
    return length > 0 && readlink("/proc/self/ns/pid", ours, sizeof ours) == length &&
           memcmp(theirs, ours, (size_t)length) == 0;
}

static void print_file(int directory, const char *name)
{
    char bytes[65536];
    const int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t got;
    while (file >= 0 && (got = read(file, bytes, sizeof bytes)) > 0)
        (void)fwrite(bytes, 1, (size_t)got, stdout);
    if (file < 0)
        return;
    close(file);
    putchar(RECORD_SEPARATOR);
}

/* Opens the journal's directory through the broker's own descriptor, because a path to it may lead
 * through directories that are not root's. The directory is opened first, then the broker is looked
 * up again, and only then files are read. Before the second look-up, the process id may have passed
 * to another process. */
static void print_journals(const struct registered *broker)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)broker->process, broker->state);
    const int directory = broker->process > 0 && is_of_our_namespace(broker->process)
                              ? open(path, O_PATH | O_CLOEXEC)
                              : -1;
    if (directory < 0)
        return;
    if (register_is_there(broker))
        print_file(directory, "journal");
    close(directory);
}

static bool print(const struct registered *broker, void *with)
{
    const struct wanted *wanted = with;
    if (wanted->except > 0 && broker->process == wanted->except)
        return true;
    if (wanted->journals) {
        print_journals(broker);
        return true;
    }
    printf("%d\t", (int)broker->process);
    print_path(broker->spool);
    putchar('\t');
    print_path(broker->config);
    putchar('\n');
    return true;
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"spool", 's', "DIR", 0, "Only the broker of this spool", 0},
        {"journals", OPTION_JOURNALS, NULL, 0,
         "Print the journals, each followed by a record separator (036)", 0},
        {"except", OPTION_EXCEPT, "PID", 0, "Leave out the broker with this process id", 0},
        {0}};
    static const struct argp argp = {
        options, parse_option,
        NULL,    "List the running brokers: process, spool and configuration, separated by tabs.",
        NULL,    NULL,
        NULL};
    struct wanted wanted = {0};
    struct registered broker;
    parse_options(&argp, argc, argv, 0, &wanted, EX_USAGE, EX_IOERR);
    if (geteuid() != 0) {
        fprintf(stderr, "rtf-brokers: only root may read the register\n");
        return EX_NOPERM;
    }
    register_tidy(false);
    if (wanted.spool == NULL)
        (void)register_each(print, &wanted);
    else if (register_find(wanted.spool, &broker))
        (void)print(&broker, &wanted);
    return end_output("rtf-brokers");
}
