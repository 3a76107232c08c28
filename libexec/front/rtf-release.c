/* rtf-release(1): removes the user's own specs, and returns when the reservations have ended. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "request/request.h"

struct options {
    uint64_t timeout;
    bool all, no_wait;
};

/* Names of specs, which free_names frees. */
struct names {
    char **list;
    size_t count;
};

static const struct command_option table[] = {
    {'a', "all", NULL, "Release all of your own reservations"},
    {0, "no-wait", NULL, "Do not wait until the reservations have ended"},
    {0, "timeout", "TIME", "Wait no longer than this for each reservation (default: 30s)"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "all") == 0)
        options->all = true;
    else if (strcmp(name, "no-wait") == 0)
        options->no_wait = true;
    else
        options->timeout = command_wait("--timeout", value);
}

static void add(struct names *names, const char *name)
{
    char **list = reallocarray(names->list, names->count + 1, sizeof *list), *copy = strdup(name);
    if (list == NULL || copy == NULL)
        command_fail(EX_OSERR, "%s", strerror(errno));
    names->list = list;
    list[names->count++] = copy;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
}

/* ---- the names ---- */

static bool is_pattern(const char *word)
{
    return strpbrk(word, "*?[") != NULL;
}

/* True if the file is NAME.json, with a NAME that a spec can have. */
static int is_spec(const struct dirent *entry)
{
    char name[sizeof entry->d_name];
    const char *suffix = strrchr(entry->d_name, '.');
    if (suffix == NULL || strcmp(suffix, ".json") != 0)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)(suffix - entry->d_name), entry->d_name);
    return client_name_ok(name);
}

/* Adds the specs whose names match the pattern. The pattern may have .json at its end. False: no
 * spec matches. */
static bool add_matching(const struct request *request, struct names *names, const char *pattern)
{
    char name[CLIENT_NAME_MAX + 1];
    struct dirent **entries = NULL;
    const size_t before = names->count;
    const int count = request->is_entered
                          ? scandirat(request->client.directory, ".", &entries, is_spec, alphasort)
                          : 0;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%.*s", (int)(strlen(entries[i]->d_name) - strlen(".json")),
                 entries[i]->d_name);
        if (fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, entries[i]->d_name, 0) == 0)
            add(names, name);
        free(entries[i]);
    }
    free(entries);
    return names->count > before;
}

/* Adds the spec of this name. False: there is no such spec. */
static bool add_named(const struct request *request, struct names *names, const char *name)
{
    if (!request->is_entered || client_inode(&request->client, name) == 0)
        return false;
    add(names, name);
    return true;
}

static void say_missing(const struct request *request, const char *word)
{
    const struct client *client = &request->client;
    if (request->is_entered)
        command_say("there is no spec %s in %s/specs/%s", command_typed(word), client->spool,
                    client->user);
    else
        command_say("there is no spec %s", command_typed(word));
}

/* Fills `names`. Returns 0, or EX_NOINPUT if there is no spec for one of the words. */
static int find(const struct request *request, char **words, struct names *names)
{
    int status = EX_OK;
    for (; *words != NULL; words++)
        if (!(is_pattern(*words) ? add_matching(request, names, *words)
                                 : add_named(request, names, *words))) {
            say_missing(request, *words);
            status = EX_NOINPUT;
        }
    return status;
}

/* ---- the end of the reservations ---- */

static bool remove_file(const struct request *request, const char *name, const char *suffix)
{
    char file[CLIENT_NAME_MAX + sizeof ".json"];
    snprintf(file, sizeof file, "%s.%s", name, suffix);
    if (unlinkat(request->client.directory, file, 0) == 0 || errno == ENOENT)
        return true;
    command_say("%s: %s", name, strerror(errno));
    return false;
}

/* Removes the specs. A spec that cannot be removed leaves the list, so that wait_for_all does not
 * wait for its reservation. */
static int remove_all(const struct request *request, struct names *names)
{
    const size_t all = names->count;
    names->count = 0;
    for (size_t i = 0; i < all; i++)
        if (remove_file(request, names->list[i], "json") &&
            remove_file(request, names->list[i], "tid"))
            names->list[names->count++] = names->list[i];
        else
            free(names->list[i]);
    return names->count == all ? EX_OK : EX_OSERR;
}

/* Waits for the last reservation first: when the last reservation has ended, nearly all others have
 * ended, too, so that even thousands of reservations need few waits. */
static int wait_for_all(struct request *request, const struct names *names)
{
    int status = EX_OK;
    for (size_t i = 0; i < names->count && status != EX_UNAVAILABLE; i++) {
        const char *name = names->list[i == 0 ? names->count - 1 : i - 1];
        if (request_wait_for_end(request, name))
            continue;
        request_say(request, name);
        status = request->status;
    }
    return status;
}

static int release(struct request *request, const struct options *options, char **words)
{
    struct names names = {0};
    if (options->all)
        (void)add_matching(request, &names, "*");
    const int status = find(request, words, &names);
    const int removed = remove_all(request, &names);
    const int waited = options->no_wait ? EX_OK : wait_for_all(request, &names);
    free_names(&names);
    return waited != EX_OK ? waited : removed != EX_OK ? removed : status;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "release",
        .about =
            "End reservations: their threads get their former attributes back, and the capacity is free.",
        .operands = "NAME...",
        .options = table,
        .take = take};
    struct options options = {.timeout = REQUEST_TIMEOUT};
    struct request request;
    char **operands = command_parse(&command, argc, argv, &options);
    if (options.all && operands[0] != NULL)
        command_misused("names and --all exclude each other");
    if (!options.all && operands[0] == NULL)
        command_misused("the names of reservations are missing");
    for (char **word = operands; *word != NULL; word++)
        if (!is_pattern(*word))
            (void)command_name(*word);
    request_open(&request, command_spool(), options.timeout, false);
    const int status = release(&request, &options, operands);
    request_close(&request);
    return status;
}
