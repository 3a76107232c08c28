/* rtf-preload(1): sets LD_PRELOAD to rtf-preload.so, and becomes the command. When the command asks
 * the kernel for a real-time policy, the library asks the broker for a reservation instead
 * (libexec/preload). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command-line.h"
#include "needs.h"
#include "units.h"
#include "preload/profile.h"

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
enum { WORDS = 256 };

static struct {
    struct needs needs;
    const char *profiles;  /* NULL: not stated */
    uint64_t max_priority; /* 0: not stated */
} options = {.needs = {.in_microseconds = true}};

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {0, "profiles", "DIR",
     "Read budgets from the files in DIR, not from preload.d of user and system"},
    {'m', "max-priority", "N",
     "Ask for at most this priority: higher ones are lowered, and keep their order (default 49)"},
    {0}};

static uint64_t command_priority(const char *value)
{
    const uint64_t priority = command_number("--max-priority", value);
    if (priority == 0 || priority > PRIORITY_MAX)
        command_misused("--max-priority must be from 1 to 99");
    return priority;
}

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "profiles") == 0)
        options.profiles = value;
    else if (strcmp(name, "max-priority") == 0)
        options.max_priority = command_priority(value);
    else
        (void)needs_take(&options.needs, name, value);
}

/* Writes the directories of profiles, with colons between: the user's directory before the system's
 * directory. */
static void find_profiles(char text[static PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe): there is one thread */
    if (options.profiles != NULL)
        snprintf(text, PATH_MAX, "%s", options.profiles);
    else if (config != NULL && config[0] == '/')
        snprintf(text, PATH_MAX, "%s/rtf/preload.d:/etc/rtf/preload.d", config);
    else if (home != NULL && home[0] == '/')
        snprintf(text, PATH_MAX, "%s/.config/rtf/preload.d:/etc/rtf/preload.d", home);
    else
        snprintf(text, PATH_MAX, "/etc/rtf/preload.d");
}

/* Finds rtf-preload.so in the directory above the directory of this program. False: there is no
 * such library, or its path has a colon or a space, at which the loader separates names in
 * LD_PRELOAD. */
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

static void add_time(char words[static WORDS], const json_t *spec, const char *key)
{
    const json_t *time = json_object_get(spec, key);
    const size_t used = strlen(words);
    if (time != NULL)
        snprintf(words + used, WORDS - used, "%s=%lldus ", key,
                 (long long)json_integer_value(time));
}

/* Writes the value of RTF_PRELOAD=: the options in the form that the library reads. */
static void say_words(char words[static WORDS])
{
    json_t *spec = json_object();
    needs_lay_over(&options.needs, spec);
    const char *plugin = json_string_value(json_object_get(spec, "plugin"));
    words[0] = '\0';
    add_time(words, spec, "runtime");
    add_time(words, spec, "period");
    const size_t used = strlen(words);
    if (plugin != NULL)
        snprintf(words + used, WORDS - used, "plugin=%.64s", plugin);
    json_decref(spec);
    const size_t length = strlen(words);
    if (options.max_priority != 0)
        snprintf(words + length, WORDS - length, " max_priority=%u",
                 (unsigned)options.max_priority);
}

/* Sets the environment variables that the library reads, in the command and in the programs that
 * the command starts. */
static bool prepare(void)
{
    char library[PATH_MAX], list[2 * PATH_MAX], profiles[PATH_MAX], words[WORDS],
        wrong[PROFILE_WRONG];
    struct profile profile = {0};
    const char *before =
        getenv("LD_PRELOAD"); /* NOLINT(concurrency-mt-unsafe): there is one thread */
    find_profiles(profiles);
    if (!profile_find(profiles, "", "", &profile, wrong)) {
        fprintf(stderr, "rtf preload: %s\n", wrong);
        return false;
    }
    if (!find_library(library)) {
        fprintf(
            stderr,
            "rtf preload: %s cannot be preloaded: there is no such file, or its path has a colon or a space\n",
            library);
        return false;
    }
    say_words(words);
    snprintf(list, sizeof list, "%s%s%s", library, before != NULL && before[0] != '\0' ? ":" : "",
             before != NULL ? before : "");
    bool set = setenv("LD_PRELOAD", list, 1) == 0 && setenv("RTF_PRELOAD", words, 1) == 0 &&
               setenv("RTF_PRELOAD_PROFILES", profiles, 1) ==
                   0; /* NOLINT(concurrency-mt-unsafe): likewise */
    if (set && command_states_spool())
        set = setenv("RTF_SPOOL", command_spool(), 1) ==
              0; /* NOLINT(concurrency-mt-unsafe): likewise */
    if (!set)
        fprintf(stderr, "rtf preload: the environment cannot be set: %s\n",
                strerror(errno)); /* NOLINT(concurrency-mt-unsafe): likewise */
    return set;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "preload",
        .about = "Run CMD, and turn each of its calls for a real-time policy into a reservation.\n"
                 "-T and -P are the budget of each SCHED_FIFO or SCHED_RR thread: 800us, 5ms, 1s.",
        .operands = "[OPTION...] CMD [ARG...]",
        .closing =
            "Exit status: 125 if CMD is not started, 126 if it cannot be run, 127 if it is not found, else the exit status of CMD.",
        .options = table,
        .needs = needs_options,
        .needs_named = " runtime period plugin sched-runtime sched-period ",
        .runs_command = true,
        .failure = EXIT_OURS,
        .take = take};
    char **operands = command_parse(&command, argc, argv, NULL);
    if (operands[0] == NULL)
        command_misused("a command is missing");
    if (!prepare())
        return EXIT_OURS;
    execvp(operands[0], operands);
    const int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    fprintf(stderr, "rtf preload: %s: %s\n", operands[0],
            strerror(errno)); /* NOLINT(concurrency-mt-unsafe): there is one thread */
    return status;
}
