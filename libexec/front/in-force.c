#include "in-force.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"

static const struct {
    const char *name, *key, *cure;
} files[] = {[ACL_CONF] = {"acl.conf", "rules", "rtf reload"},
             [PLUGINS_CONF] = {"plugins.conf", "plugins", "rtf restart"}};

const char *in_force_directory(int root, const json_t *status)
{
    struct stat spool;
    if (fstat(root, &spool) != 0 || (spool.st_uid != 0 && spool.st_uid != geteuid()))
        return NULL;
    return client_string(status, "config");
}

/* ---- lines ---- */

__attribute__((noreturn)) static void no_memory(void)
{
    fprintf(stderr, "%s\n", strerror(ENOMEM));
    exit(EX_OSERR);
}

static void add_line(struct conf_lines *lines, int line, const char *text)
{
    /* the list is full: it has room for 0, 1, 3, 7 and so on lines */
    if ((lines->count & (lines->count + 1)) == 0) {
        struct conf_line *list = reallocarray(lines->list, 2 * lines->count + 1, sizeof *list);
        if (list == NULL)
            no_memory();
        lines->list = list;
    }
    struct conf_line *added = &lines->list[lines->count++];
    *added = (struct conf_line){.line = line, .text = strdup(text)};
    if (added->text == NULL)
        no_memory();
}

void in_force_free(struct conf_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->list[i].text);
    free(lines->list);
    *lines = (struct conf_lines){0};
}

bool in_force_lines(const json_t *status, enum conf_file file, struct conf_lines *lines)
{
    const json_t *told = json_object_get(status, files[file].key), *line;
    size_t i;
    *lines = (struct conf_lines){0};
    json_array_foreach(told, i, line)
    {
        const char *text = client_string(line, "text");
        if (text != NULL)
            add_line(lines, (int)json_integer_value(json_object_get(line, "line")), text);
    }
    return json_is_array(told);
}

/* Removes the comment, and leaves a single blank between words, in place. */
static void fold(char *text)
{
    char *end = text;
    text[strcspn(text, "#")] = '\0';
    for (char *rest = text, *word; (word = strsep(&rest, " \t\r\n")) != NULL;) {
        const size_t length = strlen(word);
        if (length == 0)
            continue;
        if (end != text)
            *end++ = ' ';
        memmove(end, word, length);
        end += length;
    }
    *end = '\0';
}

/* Opens a file without waiting, because something other than a regular file may be there. */
static FILE *open_file(const char *directory, enum conf_file file)
{
    char path[PATH_MAX];
    struct stat status;
    const int length = snprintf(path, sizeof path, "%s/%s", directory, files[file].name);
    const int fd =
        length >= (int)sizeof path ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *stream =
        fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
    if (stream == NULL && fd >= 0)
        close(fd);
    return stream;
}

bool in_force_file_lines(const char *directory, enum conf_file file, struct conf_lines *lines)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_file(directory, file);
    *lines = (struct conf_lines){0};
    if (stream == NULL)
        return false;
    for (int line = 1; getline(&text, &size, stream) >= 0; line++) {
        fold(text);
        if (text[0] != '\0')
            add_line(lines, line, text);
    }
    free(text);
    fclose(stream);
    return true;
}

/* ---- differences ---- */

static int compare(const void *one, const void *two)
{
    const struct conf_line *a = *(const struct conf_line *const *)one,
                           *b = *(const struct conf_line *const *)two;
    const int by = strcmp(a->text, b->text);
    return by != 0 ? by : (a > b) - (a < b);
}

/* Returns the lines sorted by text. Lines with the same text keep their order. The caller frees the
 * list, which ends with NULL. */
static const struct conf_line **sorted(const struct conf_lines *lines)
{
    const struct conf_line **list = calloc(lines->count + 1, sizeof *list);
    if (list == NULL)
        no_memory();
    for (size_t i = 0; i < lines->count; i++)
        list[i] = &lines->list[i];
    qsort(list, lines->count, sizeof *list, compare);
    return list;
}

/* Returns how many lines at the beginning of a sorted list have this text. */
static size_t count_same(const struct conf_line *const *list, const char *text)
{
    size_t count = 0;
    while (list[count] != NULL && strcmp(list[count]->text, text) == 0)
        count++;
    return count;
}

/* Returns an array for the lines of `of`: true for the first line of each text that is in `of` more
 * often than in `others`. The caller frees the array. */
static bool *find_missing(const struct conf_lines *of, const struct conf_lines *others)
{
    bool *missing = calloc(of->count + 1, sizeof *missing);
    const struct conf_line **ours = sorted(of), **theirs = sorted(others);
    if (missing == NULL)
        no_memory();
    size_t at = 0;
    for (size_t i = 0, count; i < of->count; i += count) {
        const char *text = ours[i]->text;
        count = count_same(ours + i, text);
        while (theirs[at] != NULL && strcmp(theirs[at]->text, text) < 0)
            at++;
        missing[ours[i] - of->list] = count > count_same(theirs + at, text);
    }
    free(ours);
    free(theirs);
    return missing;
}

/* Passes on the sentence in printable ASCII: a line of a file may have escape sequences for a
 * terminal. */
__attribute__((format(printf, 2, 3))) static void say(void (*tell)(const char *sentence),
                                                      const char *format, ...)
{
    char *plain = NULL, *printable;
    va_list values;
    va_start(values, format);
    if (vasprintf(&plain, format, values) < 0)
        no_memory();
    va_end(values);
    const size_t size = strlen(plain) * (CLIENT_PIECE - 1) + 1;
    printable = malloc(size);
    if (printable == NULL)
        no_memory();
    tell(client_printable(plain, printable, size));
    free(printable);
    free(plain);
}

static bool has_same_order(const struct conf_lines *one, const struct conf_lines *two)
{
    if (one->count != two->count)
        return false;
    for (size_t i = 0; i < one->count; i++)
        if (strcmp(one->list[i].text, two->list[i].text) != 0)
            return false;
    return true;
}

static void compare_lines(enum conf_file file, const struct conf_lines *force,
                          const struct conf_lines *now, void (*tell)(const char *sentence))
{
    const char *name = files[file].name, *cure = files[file].cure;
    bool *added = find_missing(now, force), *removed = find_missing(force, now), differ = false;
    for (size_t i = 0; i < now->count; i++)
        if (added[i]) {
            say(tell, "%s:%d: \"%s\" is not in force before %s", name, now->list[i].line,
                now->list[i].text, cure);
            differ = true;
        }
    for (size_t i = 0; i < force->count; i++)
        if (removed[i]) {
            say(tell, "%s: \"%s\" has been removed, and stays in force until %s", name,
                force->list[i].text, cure);
            differ = true;
        }
    if (!differ && file == PLUGINS_CONF && !has_same_order(now, force))
        say(tell, "%s: its lines have another order, which is not in force before %s", name, cure);
    free(added);
    free(removed);
}

void in_force_differences(const json_t *status, enum conf_file file, const char *directory,
                          void (*tell)(const char *sentence))
{
    struct conf_lines force, now = {0};
    if (in_force_lines(status, file, &force) && in_force_file_lines(directory, file, &now))
        compare_lines(file, &force, &now, tell);
    in_force_free(&force);
    in_force_free(&now);
}
