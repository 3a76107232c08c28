#include "profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "units.h"

enum { LINE = 512 };

/* The names to match, and the result. */
struct search {
    const char *program, *thread;
    struct profile *profile;
    char *wrong;
    bool found;
};

static bool take_priority(const char *text, struct profile *profile)
{
    uint64_t number;
    if (!parse_number(text, PRIORITY_MAX, &number) || number == 0)
        return false;
    profile->max_priority = (int)number;
    return true;
}

bool profile_take(struct profile *profile, const char *word)
{
    if (strncmp(word, "runtime=", 8) == 0)
        return parse_time(word + 8, &profile->runtime);
    if (strncmp(word, "period=", 7) == 0)
        return parse_time(word + 7, &profile->period);
    if (strncmp(word, "max_priority=", 13) == 0)
        return take_priority(word + 13, profile);
    if (strncmp(word, "plugin=", 7) != 0 || word[7] == '\0' || strlen(word + 7) >= PROFILE_PLUGIN)
        return false;
    snprintf(profile->plugin, sizeof profile->plugin, "%s", word + 7);
    return true;
}

/* Returns NULL, or the fault of the line. */
static const char *take_line(struct search *search, char *line)
{
    char *rest = NULL;
    struct profile said = *search->profile;
    line[strcspn(line, "#\n")] = '\0';
    const char *program = strtok_r(line, " \t", &rest);
    const char *thread = program == NULL ? NULL : strtok_r(NULL, " \t", &rest);
    if (program == NULL)
        return NULL;
    if (thread == NULL)
        return "a pattern for the thread is missing";
    for (const char *word = strtok_r(NULL, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest))
        if (!profile_take(&said, word))
            return "a word is not one of " PROFILE_WORDS;
    if (!search->found && fnmatch(program, search->program, 0) == 0 &&
        fnmatch(thread, search->thread, 0) == 0) {
        *search->profile = said;
        search->found = true;
    }
    return NULL;
}

/* Opens a regular file. NULL: there is no such file, or it is not a regular file: reading a FIFO or
 * a device could block. */
static FILE *open_regular(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file =
        fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

static bool read_file(struct search *search, const char *path)
{
    char line[LINE];
    const char *wrong = NULL;
    FILE *file = open_regular(path);
    for (int number = 1; file != NULL && wrong == NULL && fgets(line, sizeof line, file) != NULL;
         number++) {
        wrong = take_line(search, line);
        if (wrong != NULL)
            snprintf(search->wrong, PROFILE_WRONG, "%.250s:%d: %s", path, number, wrong);
    }
    if (file != NULL)
        (void)fclose(file);
    return wrong == NULL;
}

static int is_profile(const struct dirent *file)
{
    const size_t length = strlen(file->d_name);
    return file->d_name[0] != '.' && length > 5 && strcmp(file->d_name + length - 5, ".conf") == 0;
}

static bool read_directory(struct search *search, const char *directory)
{
    struct dirent **files = NULL;
    const int count = scandir(directory, &files, is_profile, alphasort);
    bool right = true;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", directory, files[i]->d_name);
        right = right && read_file(search, path);
        free(files[i]);
    }
    free(files);
    return right;
}

bool profile_find(const char *directories, const char *program, const char *thread,
                  struct profile *profile, char wrong[static PROFILE_WRONG])
{
    struct search search = {.program = program,
                            .thread = thread,
                            .profile = profile,
                            .wrong = wrong};
    char list[PATH_MAX], *rest = NULL;
    bool right = true;
    snprintf(list, sizeof list, "%s", directories);
    for (const char *directory = strtok_r(list, ":", &rest); directory != NULL && right;
         directory = strtok_r(NULL, ":", &rest))
        right = read_directory(&search, directory);
    return right;
}
