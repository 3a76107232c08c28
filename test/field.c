/* field FILTER - what `jq -r FILTER` prints of the JSON on standard input, if the filter is a path, as .grant.cpus, or terms such as .result == "OK" or
 * .thread with ` and ` between them; EX_UNAVAILABLE if it is more than that.
 *
 * The tests look at thousands of verdicts, and jq takes 24 ms of CPU time to start. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

/* The value, or null; borrowed. *filter is behind the path then; or NULL: there is none. */
static json_t *take_path(const char **filter, json_t *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    const char *at = *filter;
    while (*at == '.' && strspn(at + 1, letters) > 0) {
        const size_t length = strspn(++at, letters);
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        value = json_object_get(value, key);
        at += length;
    }
    *filter = at == *filter ? NULL : at;
    return value == NULL ? json_null() : value;
}

/* Whether it is the value that is said next; *filter is behind that then, or NULL: none is said. */
static bool is_equal(const char **filter, json_t *value)
{
    json_error_t error;
    json_t *other = json_loads(*filter, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
    const bool equal = other != NULL && json_equal(other, value) != 0;
    *filter = other == NULL ? NULL : *filter + error.position;
    json_decref(other);
    return equal;
}

/* What a term says of `value`. *filter is behind it then; or NULL: it is no term. */
static bool take_term(const char **filter, json_t *value)
{
    const bool same = strncmp(*filter, " == ", 4) == 0;
    if (!same && strncmp(*filter, " != ", 4) != 0)
        return !json_is_null(value) && !json_is_false(value);
    *filter += 4;
    return is_equal(filter, value) == same;
}

static void print(const json_t *value)
{
    if (json_is_string(value))
        puts(json_string_value(value));
    else {
        (void)json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
        putchar('\n');
    }
}

/* False: it is no such filter. */
static bool answer(const char *filter, json_t *document)
{
    bool holds = true;
    json_t *value = take_path(&filter, document);
    if (filter != NULL && *filter == '\0')
        print(value);
    if (filter == NULL || *filter == '\0')
        return filter != NULL;
    while (filter != NULL) {
        holds = take_term(&filter, value) && holds;
        if (filter == NULL || strncmp(filter, " and ", 5) != 0)
            break;
        filter += 5;
        value = take_path(&filter, document);
    }
    if (filter == NULL || *filter != '\0')
        return false;
    puts(holds ? "true" : "false");
    return true;
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *document = json_loadf(stdin, JSON_DECODE_ANY, &error);
    if (argc != 2 || document == NULL) {
        fprintf(stderr, "field: %s\n", argc != 2 ? "usage: field FILTER" : error.text);
        return argc != 2 ? EX_USAGE : EX_DATAERR;
    }
    return answer(argv[1], document) ? EX_OK : EX_UNAVAILABLE;
}
