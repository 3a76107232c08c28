/* log-lines: reads a log from standard input, selects lines, and prints each line as a sentence, or
 * unchanged with --json. For rtf-log(1) and rtf-history(8).
 *
 * With --own the input is a user's own log (.events in the user's directory), whose lines are
 * turned into lines as in the broker's log. A sentence has only printable ASCII: users choose
 * names, and may put escape sequences into them. */
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "options.h"
#include "request/grant-text.h"

enum { KEY_SINCE = 256, KEY_UNTIL, KEY_USER, KEY_NAME, KEY_STAGE, KEY_DECISION, KEY_JSON, KEY_OWN };

static struct {
    /* only lines between these times, which are written as in the log; "": no limit */
    const char *since, *until;
    /* patterns for these words of a line; "*": any word */
    const char *user, *name, *stage, *decision;
    /* the user whose own log is read; NULL: the broker's log is read */
    const char *own;
    bool json;
} options = {"", "", "*", "*", "*", "*", NULL, false};

/* ---- selection ---- */

/* True if the value matches the pattern. Only * and ? are special in a pattern. value NULL: the
 * line has null for the key; only "*" and the empty pattern match null. */
static bool is_like(const char *value, const char *pattern)
{
    char plain[512];
    size_t used = 0;
    if (strcmp(pattern, "*") == 0)
        return true;
    for (; *pattern != '\0' && used < sizeof plain - 2; pattern++) {
        if (*pattern == '[' || *pattern == '\\')
            plain[used++] = '\\';
        plain[used++] = *pattern;
    }
    plain[used] = '\0';
    return fnmatch(plain, value == NULL ? "" : value, 0) == 0;
}

static const char *uid_text(const json_t *line)
{
    static char text[24];
    const json_t *uid = json_object_get(line, "uid");
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(uid));
    return json_is_integer(uid) ? text : NULL;
}

static bool is_selected(const json_t *line)
{
    const char *time = client_string(line, "time");
    if (time == NULL || strcmp(time, options.since) < 0 ||
        (options.until[0] != '\0' && strcmp(time, options.until) > 0))
        return false;
    return (is_like(client_string(line, "user"), options.user) ||
            is_like(uid_text(line), options.user)) &&
           is_like(client_string(line, "name"), options.name) &&
           is_like(client_string(line, "stage"), options.stage) &&
           is_like(client_string(line, "decision"), options.decision);
}

/* ---- an event as a sentence ---- */

static const char *word(const json_t *line, const char *key)
{
    const char *text = client_string(line, key);
    return text == NULL ? "null" : text;
}

static void write_subject(FILE *stream, const json_t *line)
{
    const char *user = client_string(line, "user"), *name = client_string(line, "name"),
               *plugin = client_string(line, "plugin");
    if (user == NULL)
        user = uid_text(line);
    if (user == NULL)
        fputs(plugin == NULL ? "-" : plugin, stream);
    else
        fprintf(stream, "%s%s%s", user, name == NULL ? "" : "/", name == NULL ? "" : name);
}

static void write_sentence(FILE *stream, const json_t *line)
{
    const char *stage = word(line, "stage"), *decision = word(line, "decision");
    const char *request = client_string(line, "request"), *reason = client_string(line, "reason"),
               *plugin = client_string(line, "plugin");
    const char *why = reason == NULL ? client_string(line, "ended") : reason;
    const json_t *grant = json_object_get(line, "grant");
    char text[GRANT_TEXT];
    fprintf(stream, "%s %s %s ", word(line, "time"), stage, decision);
    write_subject(stream, line);
    if (request != NULL)
        fprintf(stream, " %s", request);
    if (plugin != NULL && (strcmp(stage, "acl") == 0 || strcmp(stage, "accept") == 0))
        fprintf(stream, " for %s", plugin);
    if (why != NULL)
        fprintf(stream, ": %s", why);
    if (json_is_object(grant) && strcmp(stage, "verdict") == 0 && strcmp(decision, "ok") == 0)
        fprintf(stream, " (%s)", grant_text(grant, text));
}

static bool print_sentence(const json_t *line)
{
    char *text = NULL, piece[CLIENT_PIECE];
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return false;
    write_sentence(stream, line);
    fclose(stream);
    for (const char *at = text; *at != '\0';) {
        client_escape(&at, piece);
        fputs(piece, stdout);
    }
    free(text);
    return putchar('\n') != EOF;
}

/* ---- lines of a user's own log ---- */

/* Turns "1763632154.123456789" (seconds since 1970) into a time as in the log; null: the text is no
 * such time. */
static json_t *released_at(const char *text)
{
    char *rest, moment[48], whole[32];
    struct tm parts;
    const time_t seconds = text == NULL ? 0 : (time_t)strtoll(text, &rest, 10);
    if (text == NULL || *rest != '.' || strspn(rest + 1, "0123456789") < 6 ||
        gmtime_r(&seconds, &parts) == NULL)
        return json_null();
    strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(moment, sizeof moment, "%s.%.6sZ", whole, rest + 1);
    return json_string(moment);
}

static json_t *value_of(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value == NULL ? json_null() : json_incref(value);
}

static void add_verdict(json_t *event, const json_t *verdict)
{
    static const char *const same[] = {"time",  "request", "result", "reason",
                                       "token", "grant",   "ended"};
    const char *result = client_string(verdict, "result");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        json_object_set_new(event, same[i], value_of(verdict, same[i]));
    json_object_set_new(event, "decision",
                        json_string(result != NULL && strcmp(result, "OK") == 0 ? "ok"
                                                                                : "refused"));
    json_object_set_new(event, "code", value_of(json_object_get(verdict, "refusal"), "code"));
    json_object_set_new(event, "plugin", value_of(json_object_get(verdict, "grant"), "plugin"));
    json_object_set_new(event, "tid", value_of(json_object_get(verdict, "thread"), "tid"));
}

/* Returns the line as in the broker's log; NULL: the line is about no reservation. The caller owns
 * the object. */
static json_t *as_event(const json_t *told)
{
    const json_t *verdict = json_object_get(told, "verdict");
    const char *name = client_string(told, "name");
    if (name == NULL)
        return NULL;
    json_t *event = json_pack(
        "{s:i, s:n, s:s, s:I, s:s, s:s, s:n, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}",
        "schema", 1, "time", "stage", "verdict", "uid", (json_int_t)getuid(), "user", options.own,
        "name", name, "request", "decision", "ok", "result", "code", "reason", "plugin", "tid",
        "us", "token", "grant", "ended");
    if (json_is_object(verdict)) {
        add_verdict(event, verdict);
        return event;
    }
    json_object_set_new(event, "stage", json_string("release"));
    json_object_set_new(event, "request", json_string("release"));
    json_object_set_new(event, "ended", value_of(told, "ended"));
    json_object_set_new(event, "time", released_at(client_string(told, "released")));
    return event;
}

/* ---- the program ---- */

static bool print_event(const json_t *event, const char *text)
{
    if (!is_selected(event))
        return true;
    if (!options.json)
        return print_sentence(event);
    if (options.own == NULL)
        return fputs(text, stdout) >= 0 && (strchr(text, '\n') != NULL || putchar('\n') != EOF);
    return json_dumpf(event, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
}

/* Prints the line if it is selected. False: standard output cannot be written. A line that is no
 * JSON object is left out. */
static bool take_line(const char *text)
{
    json_t *line = client_parse_object(text);
    json_t *event = line == NULL ? NULL : options.own == NULL ? json_incref(line) : as_event(line);
    const bool good = event == NULL || print_event(event, text);
    json_decref(event);
    json_decref(line);
    return good;
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case KEY_SINCE: options.since = argument; break;
    case KEY_UNTIL: options.until = argument; break;
    case KEY_USER: options.user = argument; break;
    case KEY_NAME: options.name = argument; break;
    case KEY_STAGE: options.stage = argument; break;
    case KEY_DECISION: options.decision = argument; break;
    case KEY_JSON: options.json = true; break;
    case KEY_OWN: options.own = argument; break;
    case ARGP_KEY_ARG: argp_usage(state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option table[] = {
        {"since", KEY_SINCE, "MOMENT", 0, "Lines since this time", 0},
        {"until", KEY_UNTIL, "MOMENT", 0, "Lines until this time", 0},
        {"user", KEY_USER, "PATTERN", 0, "Of these users", 0},
        {"name", KEY_NAME, "PATTERN", 0, "About these specs", 0},
        {"stage", KEY_STAGE, "PATTERN", 0, "Of these stages", 0},
        {"decision", KEY_DECISION, "PATTERN", 0, "With these decisions", 0},
        {"json", KEY_JSON, NULL, 0, "Print the lines as they are", 0},
        {"own", KEY_OWN, "USER", 0, "The input is this user's own log", 0},
        {0}};
    static const struct argp argp = {
        .options = table,
        .parser = take_option,
        .doc = "Select lines of a log on standard input, and print them."};
    char *text = NULL;
    size_t size = 0;
    if (parse_options(&argp, argc, argv, 0, NULL, EX_USAGE, EX_IOERR) != 0)
        return EX_USAGE;
    /* flushes each line, because rtf log --follow prints the lines of a log that grows */
    bool good = true;
    while (good && getline(&text, &size, stdin) >= 0)
        good = take_line(text) && fflush(stdout) == 0;
    free(text);
    return good ? EX_OK : EX_IOERR;
}
