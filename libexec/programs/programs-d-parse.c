#include "programs-d-parse.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "roots-file.h"
#include "spec-keys.h"
#include "program-file.h"

enum { PATH_BYTES = 4096 };

/* ---- the text ---- */

/* Finds the end of a JSON string, which begins at `at` with its quote. */
static char *end_of_string(char *at)
{
    while (*++at != '"')
        at += *at == '\\';
    return at;
}

/* Overwrites with blanks, so that all lines keep their numbers. */
static void blank(char *from, const char *to)
{
    for (; from <= to; from++)
        if (*from != '\n')
            *from = ' ';
}

/* Blanks the comma behind the member, or else the comma before it. */
static void blank_comma(char *comma_before, char *end)
{
    char *after = end + 1 + strspn(end + 1, " \t\r\n");
    if (*after == ',')
        *after = ' ';
    else if (comma_before != NULL)
        *comma_before = ' ';
}

/* Takes the member with this key, whose value is a string, out of the text of a JSON object. */
static void take_out(char *text, const char *key)
{
    int depth = 0;
    char *comma = NULL;
    const size_t length = strlen(key);
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '"') {
            char *end = end_of_string(at), *colon = end + 1 + strspn(end + 1, " \t\r\n");
            if (depth == 1 && *colon == ':' && (size_t)(end - at) == length + 1 &&
                strncmp(at + 1, key, length) == 0) {
                char *last = end_of_string(strchr(colon, '"'));
                blank(at, last);
                blank_comma(comma, last);
                return;
            }
            at = end;
        } else if (*at == ',' && depth == 1)
            comma = at;
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
    }
}

/* ---- the user or group ---- */

static bool wrong_key(const char *text, const json_t *object, const char *key, const char *why,
                      char reason[static REASON_BYTES])
{
    const char *each;
    json_t *value;
    char shown[112];
    int number = 0;
    json_object_foreach((json_t *)object, each, value)
    {
        if (strcmp(each, key) == 0)
            break;
        number++;
    }
    spec_name_key(text, strlen(text), key, number, shown);
    return fault_in(reason, REASON_BYTES, "%s %s", shown, why);
}

/* True: a rule of acl.conf can have this name, too. */
static bool is_plain(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == ',')
            return false;
    return *name != '\0';
}

static bool take_whom(const char *text, const json_t *object, const char *key, char **whom,
                      char reason[static REASON_BYTES])
{
    const json_t *value = json_object_get(object, key);
    const bool is_group = strcmp(key, "group") == 0;
    if (value == NULL)
        return true;
    const char *name = json_string_value(value);
    if (name == NULL || strlen(name) != json_string_length(value) || !is_plain(name) ||
        is_group != (name[0] == '@') || (is_group && name[1] == '\0'))
        return wrong_key(text, object, key,
                         is_group ? "must be @ and the name of a group, such as \"@audio\""
                                  : "must be the name of a user",
                         reason);
    *whom = strdup(name + is_group);
    if (*whom == NULL)
        abort();
    return true;
}

static bool parse_rest(const char *text, struct given *given, char reason[static REASON_BYTES])
{
    struct program_file *program;
    const enum program_parsed parsed = program_parse(text, strlen(text), &program, reason);
    bool good = parsed == PROGRAM_GOOD;
    if (parsed == PROGRAM_NOT)
        (void)fault_in(reason, REASON_BYTES, "the key \"threads\" is missing");
    else if (good && program->path[0] == '\0')
        good =
            program->group[0] != '\0' ||
            fault_in(
                reason, REASON_BYTES,
                "the key \"program\" or \"cgroup\" is missing: \"process\" is only for the files of users");
    else if (good) {
        given->program = strdup(program->path);
        if (given->program == NULL)
            abort();
    }
    program_free(program);
    return good;
}

/* Turns the text of a file into a program file: takes the keys user and group out, and leaves all
 * other keys at their places. False: *reason names key and line. */
static bool parse(char *text, struct given *given, char reason[static REASON_BYTES])
{
    json_t *object = spec_object(text, strlen(text), reason);
    if (object == NULL)
        return false;
    bool good = take_whom(text, object, "user", &given->user, reason) &&
                take_whom(text, object, "group", &given->group, reason);
    if (good && given->user == NULL && given->group == NULL)
        good = fault_in(reason, REASON_BYTES, "has neither the key \"user\" nor \"group\"");
    json_decref(object);
    if (!good)
        return false;
    take_out(text, "user");
    take_out(text, "group");
    return parse_rest(text, given, reason);
}

/* ---- the directory ---- */

/* NULL: *reason says why. */
static char *read_text(const char *path, char reason[static REASON_BYTES])
{
    static char bytes[SPEC_BYTES_MAX + 2];
    size_t length = 0;
    ssize_t got = 1;
    const int fd = roots_file_open(path, reason);
    if (fd < 0)
        return NULL;
    while (got > 0 && length < sizeof bytes - 1) {
        got = read(fd, bytes + length, sizeof bytes - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    bytes[length] = '\0';
    if (got < 0)
        (void)fault_in(reason, REASON_BYTES, "%.300s: %s", path, strerror(errno));
    else if (strlen(bytes) != length)
        (void)fault_in(reason, REASON_BYTES, "%.300s: has a NUL byte", path);
    else
        return strdup(bytes);
    return NULL;
}

static struct given *read_one(const char *directory, const char *file)
{
    char path[PATH_BYTES], why[REASON_BYTES] = "";
    struct given *given = calloc(1, sizeof *given);
    if (given == NULL)
        abort();
    snprintf(given->name, sizeof given->name, GIVEN_PREFIX "%.*s",
             (int)(strlen(file) - strlen(".json")), file);
    snprintf(path, sizeof path, "%s/%s", directory, file);
    char *text = read_text(path, given->wrong);
    if (text == NULL)
        return given;
    if (parse(text, given, why)) {
        given->text = text;
        return given;
    }
    free(text);
    (void)fault_in(given->wrong, REASON_BYTES, "programs.d/%.64s: %.400s", file, why);
    return given;
}

/* True: the name is NAME.json. Other files are ignored, such as README, NAME.json.example and
 * NAME.json~. */
static int is_one(const struct dirent *entry)
{
    char name[NAME_BYTES + sizeof entry->d_name];
    const size_t length = strlen(entry->d_name), tail = strlen(".json");
    if (length <= tail || strcmp(entry->d_name + length - tail, ".json") != 0 ||
        !name_is_valid(entry->d_name, length - tail, NAME_BYTES - 1))
        return 0;
    snprintf(name, sizeof name, GIVEN_PREFIX "%.*s", (int)(length - tail), entry->d_name);
    return name_is_valid(name, strlen(name), NAME_BYTES - 1);
}

static bool is_roots(const char *directory, char reason[static REASON_BYTES])
{
    struct stat status;
    if (stat(directory, &status) != 0)
        return fault_in(reason, REASON_BYTES, "%.300s: %s", directory, strerror(errno));
    return (S_ISDIR(status.st_mode) && only_root_writes(&status)) ||
           fault_in(reason, REASON_BYTES,
                    "%.300s: must be a directory of root's that nobody else can write (mode 0755 "
                    "at most)",
                    directory);
}

bool given_read(const char *directory, struct given **list, char reason[static REASON_BYTES])
{
    struct dirent **files;
    *list = NULL;
    if (access(directory, F_OK) != 0 && errno == ENOENT)
        return true;
    if (!is_roots(directory, reason))
        return false;
    const int count = scandir(directory, &files, is_one, alphasort);
    if (count < 0)
        return fault_in(reason, REASON_BYTES, "%.300s: %s", directory, strerror(errno));
    for (int i = count - 1; i >= 0; i--) {
        struct given *given = read_one(directory, files[i]->d_name);
        given->next = *list;
        *list = given;
        free(files[i]);
    }
    free(files);
    return true;
}

void given_free(struct given *list)
{
    while (list != NULL) {
        struct given *given = list;
        list = given->next;
        free(given->user);
        free(given->group);
        free(given->program);
        free(given->text);
        free(given);
    }
}
