#include "experiment-reading.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* True if the string between `start` and `end` is the key. A key with escapes is never found, and
 * messages then lack its line. */
static bool is_key(const char *start, const char *end, const char *key)
{
    size_t length = strlen(key);
    return (size_t)(end - start) == length && memcmp(start, key, length) == 0;
}

/* Finds the line of the key at reading->path; 0: not found. The function searches the text, because
 * jansson keeps no positions. The text is valid JSON, so a key is a string before a colon.
 * `matched` counts the keys of the path whose objects the search is in. */
static int line_of(const struct reading *reading)
{
    const char *at = reading->text, *end = reading->text + reading->length, *start = NULL,
               *stop = NULL;
    int line = 1, line_of_string = 1, depth = 0, matched = 0;
    for (; at < end; at++) {
        if (*at == '"') {
            line_of_string = line;
            start = at + 1;
            while (*++at != '"')
                at += *at == '\\';
            stop = at;
        } else if (*at == ':' && depth == matched + 1 && start != NULL &&
                   is_key(start, stop, reading->path[matched])) {
            if (++matched == reading->depth)
                return line_of_string;
        }
        line += *at == '\n';
        depth += *at == '{' || *at == '[';
        if (*at == '}' || *at == ']') {
            depth--;
            if (matched > 0 && matched >= depth) /* the same key, but in another object */
                matched = depth - 1;
        }
    }
    return 0;
}

static void describe_place(const struct reading *reading, char *place, size_t size)
{
    size_t used = 0;
    place[0] = '\0';
    for (int i = 0; i < reading->depth && used < size; i++)
        used += (size_t)snprintf(place + used, size - used, "%s%.64s", i == 0 ? "" : ".",
                                 reading->path[i]);
}

bool reading_fault(struct reading *reading, const char *format, ...)
{
    char place[200], what[EXPERIMENT_WHY - 250];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    describe_place(reading, place, sizeof place);
    int line = reading->depth == 0 ? 0 : line_of(reading);
    if (reading->depth == 0)
        snprintf(reading->why, EXPERIMENT_WHY, "%s", what);
    else if (line == 0)
        snprintf(reading->why, EXPERIMENT_WHY, "key \"%s\" %s", place, what);
    else
        snprintf(reading->why, EXPERIMENT_WHY, "key \"%s\" (line %d) %s", place, line, what);
    for (char *byte = reading->why; *byte != '\0'; byte++)
        if ((unsigned char)*byte < ' ' || (unsigned char)*byte > '~')
            *byte = '?';
    return false;
}

static const struct key *find_key(const struct reading *reading, const struct key *keys,
                                  const char *name)
{
    for (; keys->name != NULL; keys++)
        if (strcmp(keys->name, name) == 0 && (!keys->compat || reading->experiment->compat))
            return keys;
    return NULL;
}

static bool unknown_key(struct reading *reading, const struct key *keys)
{
    char list[250] = "";
    size_t used = 0;
    for (; keys->name != NULL && used < sizeof list; keys++)
        if (!keys->compat || reading->experiment->compat)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used == 0 ? "" : ", ",
                                     keys->name);
    return reading_fault(reading, "is unknown; known here: %s", list);
}

bool reading_object(struct reading *reading, const json_t *object, const struct key *keys,
                    void *into)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return reading_fault(reading, "must be an object");
    json_object_foreach((json_t *)object, name, value)
    {
        const struct key *key = find_key(reading, keys, name);
        reading->path[reading->depth++] = name;
        if (key == NULL)
            return unknown_key(reading, keys);
        if (!key->take(reading, value, into))
            return false;
        reading->depth--;
    }
    return true;
}

bool reading_ignore(struct reading *reading, const json_t *value, void *into)
{
    (void)reading, (void)value, (void)into;
    return true;
}
