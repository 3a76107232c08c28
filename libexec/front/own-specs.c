#include "own-specs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "name.h"
#include "states.h"

static void take_threads(const char *user, const char *name, const struct own_spec *program,
                         const struct own_specs_listener *listener)
{
    char thread_name[RESERVATION_NAME_BYTES];
    const json_t *thread;
    size_t i;
    json_array_foreach(json_object_get(program->verdict, "threads"), i, thread)
    {
        const int tid = (int)json_integer_value(json_object_get(thread, "tid"));
        snprintf(thread_name, sizeof thread_name, "%.64s+%d", name, tid);
        listener->take(user, &(struct own_spec){.name = thread_name,
                                                .verdict = json_incref((json_t *)thread),
                                                .is_current = program->is_current});
    }
}

static void take_spec(int directory, const char *user, const char *name, const struct stat *file,
                      const struct own_specs_listener *listener)
{
    char verdict_name[CLIENT_NAME_MAX + sizeof ".verdict"];
    snprintf(verdict_name, sizeof verdict_name, "%.*s.verdict", CLIENT_NAME_MAX, name);
    struct own_spec spec = {.name = name,
                            .verdict = client_read_object(directory, verdict_name),
                            .file = file};
    spec.is_current = spec.verdict != NULL && verdict_is_current(spec.verdict, file);
    json_t *verdict = json_incref(spec.verdict);
    listener->take(user, &spec);
    spec.verdict = verdict;
    take_threads(user, name, &spec, listener);
    json_decref(verdict);
}

/* Takes the file name NAME.json, and writes NAME. False: this is no name of a spec. */
static bool take_name(const char *file, char name[static NAME_MAX + 1])
{
    static const char suffix[] = ".json";
    const size_t length = strlen(file), tail = sizeof suffix - 1;
    if (length <= tail || strcmp(file + length - tail, suffix) != 0)
        return false;
    snprintf(name, NAME_MAX + 1, "%.*s", (int)(length - tail), file);
    return client_name_ok(name);
}

bool own_specs_read(int specs, const char *user, const struct own_specs_listener *listener)
{
    char name[NAME_MAX + 1];
    struct stat file;
    const int directory = openat(specs, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = directory < 0 ? NULL : fdopendir(directory);
    if (entries == NULL)
        return false;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (take_name(entry->d_name, name) && listener->is_wanted(name) &&
            fstatat(directory, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0)
            take_spec(directory, user, name, &file, listener);
    closedir(entries);
    return true;
}
