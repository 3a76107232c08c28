/* rtf-preload(1): sets LD_PRELOAD to rtf-preload.so, and becomes the command. The library makes a reservation of each call of the command that asks the kernel
 * for a real-time policy (libexec/preload). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "options.h"
#include "preload/profile.h"
#include "version.h"

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
enum { KEY_PLUGIN = 256, KEY_PROFILES, KEY_SPOOL };
enum { WORDS = 256 };

static struct options {
    const char *spool, *profiles;
    uint64_t runtime, period; /* us; 0: not stated */
    const char *plugin;
    char **command;
} options = {.spool = NULL};

const char *argp_program_version = "rtf preload " RTF_VERSION;

static const struct argp_option option_table[] = {
    {"runtime", 'T', "TIME", 0, "Budget of each SCHED_FIFO or SCHED_RR thread: CPU time in each period", 1},
    {"period", 'P', "TIME", 0, "Period of the budget", 1},
    {"plugin", KEY_PLUGIN, "NAME", 0, "Ask only this plugin (default: the first of the policy that CMD asks for)", 1},
    {"profiles", KEY_PROFILES, "DIR", 0, "Read budgets from the files in DIR, not from preload.d of user and system", 1},
    {"spool", KEY_SPOOL, "DIR", 0, "The spool (default: " RTF_SPOOL ")", 1},
    {0}};

static void take_time(struct argp_state *state, const char *option, const char *text, uint64_t *time)
{
    const char *wrong = client_take_time(text, time);
    if (wrong != NULL)
        argp_failure(state, EXIT_OURS, 0, "%s %s: %s", option, text, wrong);
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 'T': take_time(state, "-T", argument, &options.runtime); break;
    case 'P': take_time(state, "-P", argument, &options.period); break;
    case KEY_PLUGIN: options.plugin = argument; break;
    case KEY_PROFILES: options.profiles = argument; break;
    case KEY_SPOOL: options.spool = argument; break;
    case ARGP_KEY_ARG: /* the command; the words that follow are its arguments */
        options.command = state->argv + state->next - 1;
        state->next = state->argc;
        break;
    case ARGP_KEY_END:
        if (options.command == NULL)
            argp_error(state, "a command is missing");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* The directories of profiles, with colons between: the user's before the system's. */
static void find_profiles(char text[static PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe): there is one thread */
    if (options.profiles != NULL)
        snprintf(text, PATH_MAX, "%s", options.profiles);
    else if (config != NULL && config[0] == '/')
        snprintf(text, PATH_MAX, "%s/rtf/preload.d:/etc/rtf/preload.d", config);
    else if (home != NULL && home[0] == '/')
        snprintf(text, PATH_MAX, "%s/.config/rtf/preload.d:/etc/rtf/preload.d", home);
    else
        snprintf(text, PATH_MAX, "/etc/rtf/preload.d");
}

/* Finds rtf-preload.so in the directory above this program's. False: it cannot be preloaded; the loader separates names in LD_PRELOAD at colons and spaces. */
static bool find_library(char path[static PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    const size_t used = strlen(path);
    snprintf(path + used, PATH_MAX - used, "/rtf-preload.so");
    return strpbrk(path, ": ") == NULL && access(path, R_OK) == 0;
}

/* The value of RTF_PRELOAD=: the options as the library reads them. */
static void say_words(char words[static WORDS])
{
    size_t used = 0;
    words[0] = '\0';
    if (options.runtime != 0)
        used += (size_t)snprintf(words, WORDS, "runtime=%lluus ", (unsigned long long)options.runtime);
    if (options.period != 0)
        used += (size_t)snprintf(words + used, WORDS - used, "period=%lluus ", (unsigned long long)options.period);
    if (options.plugin != NULL)
        snprintf(words + used, WORDS - used, "plugin=%.64s", options.plugin);
}

/* Sets the environment variables that the library reads, in the command and in the programs that the command starts. */
static bool prepare(void)
{
    char library[PATH_MAX], list[2 * PATH_MAX], profiles[PATH_MAX], words[WORDS], wrong[PROFILE_WRONG];
    struct profile profile = {0};
    const char *before = getenv("LD_PRELOAD"); /* NOLINT(concurrency-mt-unsafe): there is one thread */
    find_profiles(profiles);
    if (!profile_find(profiles, "", "", &profile, wrong)) {
        fprintf(stderr, "rtf preload: %s\n", wrong);
        return false;
    }
    if (!find_library(library)) {
        fprintf(stderr, "rtf preload: %s cannot be preloaded: there is no such file, or its path has a colon or a space\n", library);
        return false;
    }
    say_words(words);
    snprintf(list, sizeof list, "%s%s%s", library, before != NULL && before[0] != '\0' ? ":" : "", before != NULL ? before : "");
    bool set = setenv("LD_PRELOAD", list, 1) == 0 && setenv("RTF_PRELOAD", words, 1) == 0 && setenv("RTF_PRELOAD_PROFILES", profiles, 1) == 0; /* NOLINT(concurrency-mt-unsafe): likewise */
    if (set && options.spool != NULL)
        set = setenv("RTF_SPOOL", options.spool, 1) == 0; /* NOLINT(concurrency-mt-unsafe): likewise */
    if (!set)
        fprintf(stderr, "rtf preload: the environment cannot be set: %s\n", strerror(errno)); /* NOLINT(concurrency-mt-unsafe): likewise */
    return set;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "CMD [ARG...]",
        .doc = "Run CMD, and make a reservation of each call by which it asks the kernel for a real-time policy.\v"
               "Exit status: 125 if CMD is not started, 126 if it cannot be run, 127 if it is not found, else the exit status of CMD."};
    static char name[] = "rtf preload";
    if (argc > 0)
        argv[0] = name;
    client_hold_standard_fds();
    if (parse_options(&argp, argc, argv, ARGP_IN_ORDER, NULL, EXIT_OURS, EXIT_OURS) != 0 || options.command == NULL || !prepare())
        return EXIT_OURS;
    execvp(options.command[0], options.command);
    const int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    fprintf(stderr, "rtf preload: %s: %s\n", options.command[0], strerror(errno)); /* NOLINT(concurrency-mt-unsafe): likewise */
    return status;
}
