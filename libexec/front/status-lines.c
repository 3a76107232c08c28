/* status-lines: prints the facts in status.json and in the files of the configuration, for commands
 * in sh. It is a C program because jq takes 30 ms to start. Each fact is a line, in this order,
 * with tabs between its words:
 *
 *     is             serving, starting or absent: the broker of this spool
 *     start          COMMAND, which starts a broker of this spool
 *     running        true or false, as status.json says. After a kill -9 of the broker, status.json still says true
 *     plugin         STATE NAME: a plugin that does not serve, and its state
 *     pid_namespace  NUMBER
 *     healthy        SENTENCE
 *     served         DIRECTORY: the configuration of the broker that serves
 *     unread         rules or plugins, SENTENCE: a difference between a file of this directory and the lines in force
 *     force          yes: the lines that follow are in force. Without this line they are from the files of --config
 *     rules          LINE WORDS
 *     threads        LINE NUMBER: a rule max_user_threads tick, and how many threads it allows
 *     plugins        LINE WORDS */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "in-force.h"
#include "options.h"
#include "serving.h"

enum { KEY_SPOOL = 256, KEY_CONFIG };

static const char *const keys[] = {[ACL_CONF] = "rules", [PLUGINS_CONF] = "plugins"};

static struct {
    const char *spool, *config; /* config NULL: the broker's directory, or else /etc/rtf */
} options = {.spool = RTF_SPOOL};

/* Prints a word of status.json. The owner of the spool may have written it. So the word is escaped,
 * and can neither end its line nor control a terminal. */
static void print_word(const char *text)
{
    char piece[CLIENT_PIECE];
    while (*text != '\0') {
        (void)client_escape(&text, piece);
        fputs(piece, stdout);
    }
}

/* ---- the configuration ---- */

static bool is_same(const char *directory, const char *other)
{
    char real[PATH_MAX];
    return realpath(directory, real) != NULL && strcmp(real, other) == 0;
}

static void print_lines(enum conf_file file, const struct conf_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        printf("%s\t%d\t", keys[file], lines->list[i].line);
        print_word(lines->list[i].text);
        putchar('\n');
    }
}

static void print_threads(const json_t *status)
{
    const json_t *rule;
    size_t i;
    json_array_foreach(json_object_get(status, "rules"), i, rule)
    {
        const json_t *threads = json_object_get(rule, "threads");
        if (json_is_integer(threads))
            printf("threads\t%lld\t%lld\n",
                   (long long)json_integer_value(json_object_get(rule, "line")),
                   (long long)json_integer_value(threads));
    }
}

static enum conf_file unread_file;

static void tell_unread(const char *sentence)
{
    printf("unread\t%s\t%s\n", keys[unread_file], sentence);
}

static void print_unread(const json_t *status, const char *directory)
{
    for (enum conf_file file = ACL_CONF; file <= PLUGINS_CONF; file++) {
        unread_file = file;
        in_force_differences(status, file, directory, tell_unread);
    }
}

/* status NULL: prints the lines of the files. */
static void print_rules(const json_t *status, const char *directory)
{
    for (enum conf_file file = ACL_CONF; file <= PLUGINS_CONF; file++) {
        struct conf_lines lines;
        if (status != NULL ? in_force_lines(status, file, &lines)
                           : in_force_file_lines(directory, file, &lines))
            print_lines(file, &lines);
        in_force_free(&lines);
    }
}

static void print_config(int root, const json_t *status, bool is_served)
{
    const char *served = is_served ? in_force_directory(root, status) : NULL;
    const char *directory = options.config != NULL ? options.config
                            : served != NULL       ? served
                                                   : "/etc/rtf";
    const bool is_ours = served != NULL && is_same(directory, served);
    const bool is_told = is_ours && json_is_array(json_object_get(status, "rules"));
    /* not escaped, because the reader opens this directory */
    if (served != NULL && strpbrk(served, "\t\n") == NULL)
        printf("served\t%s\n", served);
    if (is_ours)
        print_unread(status, directory);
    if (is_told) {
        print_threads(status);
        puts("force\tyes");
    }
    print_rules(is_told ? status : NULL, directory);
}

/* ---- the broker ---- */

static void print_healthy(const json_t *status)
{
    const json_t *plugin;
    size_t i;
    printf("healthy\tAll is well: the broker serves %s with ", options.spool);
    json_array_foreach(json_object_get(status, "plugins"), i, plugin)
    {
        const char *name = client_string(plugin, "name");
        fputs(i == 0 ? "" : ", ", stdout);
        print_word(name == NULL ? "" : name);
    }
    printf("; reservations: %lld, with a thread: %lld.\n",
           (long long)json_integer_value(json_object_get(status, "reservations")),
           (long long)json_integer_value(json_object_get(status, "attached")));
}

static void print_plugin(const char *state, const char *name)
{
    fputs("plugin\t", stdout);
    print_word(state);
    putchar('\t');
    print_word(name);
    putchar('\n');
}

static void print_broker(const json_t *status)
{
    const json_t *plugin, *names = json_object_get(status, "pid_namespace");
    size_t i;
    if (status == NULL)
        return;
    printf("running\t%s\n", json_is_true(json_object_get(status, "running")) ? "true" : "false");
    json_array_foreach(json_object_get(status, "plugins"), i, plugin)
    {
        const char *state = client_string(plugin, "state"), *name = client_string(plugin, "name");
        if (state != NULL && name != NULL && strcmp(state, "serving") != 0)
            print_plugin(state, name);
    }
    if (json_is_integer(names))
        printf("pid_namespace\t%lld\n", (long long)json_integer_value(names));
    print_healthy(status);
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case KEY_SPOOL: options.spool = argument; break;
    case KEY_CONFIG: options.config = argument; break;
    case ARGP_KEY_ARG: argp_usage(state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option table[] = {{"spool", KEY_SPOOL, "DIR", 0, "The spool", 0},
                                               {"config", KEY_CONFIG, "DIR", 0,
                                                "Where plugins.conf and acl.conf are", 0},
                                               {0}};
    static const struct argp argp = {
        .options = table,
        .parser = take_option,
        .doc = "Print the facts in status.json and in the files of the configuration."};
    static const char *const words[] = {
        [NOT_SERVED] = "absent", [STARTING] = "starting", [SERVED] = "serving"};
    if (parse_options(&argp, argc, argv, 0, NULL, EX_USAGE, EX_IOERR) != 0)
        return EX_USAGE;
    const int root = open(options.spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const enum serving is = root < 0 ? NOT_SERVED : serving(root);
    json_t *status = root < 0 ? NULL : client_read_object(root, "status.json");
    char starter[CLIENT_WHY];
    printf("is\t%s\nstart\t", words[is]);
    print_word(client_starter(options.spool, starter));
    putchar('\n');
    print_broker(status);
    print_config(root, status, is == SERVED);
    json_decref(status);
    return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}
