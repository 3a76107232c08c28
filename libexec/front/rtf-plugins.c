/* rtf-plugins(1): prints the plugins and their free capacity, from status.json, as a table or as
 * JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "open-spool.h"
#include "command-line.h"
#include "in-force.h"
#include "serving.h"

enum column { NAME, POLICY, PRIORITIES, CPUS, TESTS, STATE, FREE, COLUMNS };

struct row {
    char *cells[COLUMNS];
};

static struct {
    bool json, no_headings;
} options;

static const struct command_option option_table[] = {{0, "json", NULL,
                                                      "Print plugins and pools as one JSON object"},
                                                     {0, "noheadings", NULL,
                                                      "Leave the heading out"},
                                                     {0}};

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    (void)value;
    if (strcmp(name, "json") == 0)
        options.json = true;
    else
        options.no_headings = true;
}

/* ---- the table ---- */

static const char *word(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = client_string(object, key);
    return text == NULL ? otherwise : text;
}

static bool is_of(const json_t *pool, const char *plugin)
{
    const char *name = client_string(pool, "plugin");
    return name != NULL && strcmp(name, plugin) == 0;
}

/* Writes "free of capacity" for one pool, "CPU:free" for each of several pools, "-" for none. */
static void write_free(FILE *stream, const json_t *pools, const char *plugin)
{
    const json_t *pool, *only = NULL;
    size_t i, count = 0, written = 0;
    json_array_foreach(pools, i, pool) if (is_of(pool, plugin))
    {
        only = pool;
        count++;
    }
    if (count == 0)
        fputs("-", stream);
    else if (count == 1)
        fprintf(stream, "%s of %s", word(only, "free", ""), word(only, "capacity", ""));
    else
        json_array_foreach(pools, i, pool) if (is_of(pool, plugin))
            fprintf(stream, "%s%s:%s", written++ == 0 ? "" : " ", word(pool, "cpus", ""),
                    word(pool, "free", ""));
}

/* Returns a copy in printable ASCII, because the spool may belong to another user. Frees
 * `allocated`, which may be `text` or NULL. The caller frees the copy. */
static char *printable(const char *text, char *allocated)
{
    const size_t size = strlen(text) * (CLIENT_PIECE - 1) + 1;
    char *copy = malloc(size);
    if (copy == NULL)
        command_fail(EX_OSERR, "%s", strerror(errno));
    (void)client_printable(text, copy, size);
    free(allocated);
    return copy;
}

/* Returns the text that write_free writes. The caller frees the text. */
static char *free_text(const json_t *pools, const char *plugin)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        command_fail(EX_OSERR, "%s", strerror(errno));
    write_free(stream, pools, plugin);
    fclose(stream);
    return text;
}

static struct row row_of(const json_t *plugin, const json_t *pools)
{
    char *left = free_text(pools, word(plugin, "name", ""));
    return (struct row){
        {[NAME] = printable(word(plugin, "name", ""), NULL),
         [POLICY] = printable(word(plugin, "policy", word(plugin, "resource", "")), NULL),
         [PRIORITIES] = printable(word(plugin, "priorities", "-"), NULL),
         [CPUS] = printable(word(plugin, "cpus", ""), NULL),
         [TESTS] = printable(word(plugin, "tests", ""), NULL),
         [STATE] = printable(word(plugin, "state", ""), NULL),
         [FREE] = printable(left, left)}};
}

static void print_rows(const struct row *rows, size_t count)
{
    int widths[COLUMNS] = {0};
    for (size_t row = 0; row < count; row++)
        for (enum column column = NAME; column < FREE; column++) {
            const int width = (int)strlen(rows[row].cells[column]);
            widths[column] = width > widths[column] ? width : widths[column];
        }
    for (size_t row = 0; row < count; row++) {
        for (enum column column = NAME; column < FREE; column++)
            printf("%-*s  ", widths[column], rows[row].cells[column]);
        puts(rows[row].cells[FREE]);
    }
}

static void print_table(const json_t *status)
{
    static struct row headings = {
        {"NAME", "POLICY", "PRIORITIES", "CPUS", "TESTS", "STATE", "FREE"}};
    const json_t *plugins = json_object_get(status, "plugins"),
                 *pools = json_object_get(status, "pools"), *plugin;
    const size_t first = options.no_headings ? 0 : 1, count = first + json_array_size(plugins);
    struct row *rows = calloc(count + 1, sizeof *rows);
    size_t i;
    if (rows == NULL)
        command_fail(EX_OSERR, "%s", strerror(errno));
    rows[0] = headings;
    json_array_foreach(plugins, i, plugin) rows[first + i] = row_of(plugin, pools);
    print_rows(rows, count);
    for (i = first; i < count; i++)
        for (enum column column = NAME; column < COLUMNS; column++)
            free(rows[i].cells[column]);
    free(rows);
}

static void print_json(const json_t *status)
{
    json_t *object = json_pack("{s:O?, s:O?}", "plugins", json_object_get(status, "plugins"),
                               "pools", json_object_get(status, "pools"));
    json_dumpf(object, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(object);
}

/* ---- the program ---- */

static void tell(const char *difference)
{
    command_say("%s", difference);
}

static json_t *read_status(struct client *client)
{
    errno = 0;
    json_t *status = client_read_object(client->root, "status.json");
    if (status == NULL && errno == EACCES)
        command_fail(client_status_of_outcome(client_denied(client, "status.json")), "%s",
                     client->why);
    if (status == NULL)
        command_fail(EX_UNAVAILABLE, "no broker has served on %s yet", client->spool);
    return status;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "plugins",
        .about = "List the plugins that grant reservations, and how much each has left.",
        .operands = "[OPTION...]",
        .options = option_table,
        .take = take};
    struct client client;
    char text[CLIENT_WHY];
    command_end_of_line(command_parse(&command, argc, argv, NULL));
    open_spool(&client);
    json_t *status = read_status(&client);
    options.json ? print_json(status) : print_table(status);
    if (!command_is_written())
        command_unwritten();
    const bool is_served = serving(client.root) == SERVED;
    const char *directory = is_served ? in_force_directory(client.root, status) : NULL;
    if (directory != NULL)
        in_force_differences(status, PLUGINS_CONF, directory, tell);
    if (!is_served)
        command_fail(EX_UNAVAILABLE,
                     "%s; the list shows what was in force when the last broker ended",
                     client_tell_no_broker(client.spool, text));
    json_decref(status);
    client_close(&client);
    return EX_OK;
}
