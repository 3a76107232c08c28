#include "needs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "disk-option.h"
#include "extras.h"
#include "net-option.h"
#include "units.h"

enum { KEY_MAX = 64 };

const struct command_option needs_options[] = {
    {'T', "runtime", "TIME", "CPU time that is used in each period"},
    {'P', "period", "TIME", "Time from one activation to the next"},
    {'D', "deadline", "TIME",
     "Time after an activation by which all of the runtime is given (default: the period)"},
    {0, "desired-runtime", "TIME", "Take up to this much runtime if there is room"},
    {0, "priority", "N", "Priority, 1 to 99; higher runs first"},
    {0, "plugin", "NAME", "Ask only this plugin"},
    {0, "lock-memory", "SIZE", "Let the process lock memory up to this size: 256MiB"},
    {0, "cpu-latency", "TIME", "Let no idle CPU take longer than this to wake"},
    {0, "nice", "N", "The nice value, -20 to -1"},
    {0, "clamp", "MIN-MAX", "Utilization clamps, each 0 to 1024: 256-819"},
    {0, "whole", NULL, "Let all threads of the process have the runtime together"},
    {0, "ignore-admission", NULL, "Ask to be admitted even if the test fails"},
    {0, "cpus", "LIST", "Only on CPUs of this list: 0-3,6"},
    {0, "net", "[INTERFACE:]SIZE[/TIME]",
     "Data to send: an amount in each period, 1024B/20ms, or a rate, eth0:10Mbit; or eth0:background"},
    {0, "disk", "[DISK:]SIZE[/TIME][,block=SIZE]",
     "Data to read and write: an amount in each period, sda:32KiB/50ms, or in each second; or sda:background"},
    {0, "expires", "TIME", "End after this time, unless the spec is touched or changed before"},
    {0, "comment", "TEXT", "A note to put into the spec"},
    {0, "set", "KEY=VALUE", "Any key of rtf-spec(5)"},
    {0, "sched-runtime", "TIME", "The same as --runtime, named as in chrt(1)"},
    {0, "sched-period", "TIME", "The same as --period, named as in chrt(1)"},
    {0, "sched-deadline", "TIME", "The same as --deadline, named as in chrt(1)"},
    {0}};

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static bool is_time(const char *key)
{
    static const char *const times[] = {"runtime", "period",      "deadline", "desired_runtime",
                                        "expires", "cpu_latency", "blocking", NULL};
    return is_one_of(key, times);
}

/* True if the value of this key is a string, even if the value looks like a number. */
static bool is_word(const char *key)
{
    static const char *const words[] = {"plugin", "comment",    "token",       "lifetime", "move",
                                        "cpus",   "on_refusal", "lock_memory", NULL};
    return is_time(key) || is_one_of(key, words);
}

/* Returns the value as a JSON string. name: the option or key, for messages. */
static json_t *text_of(const char *name, const char *value)
{
    json_t *text = json_string(value);
    if (text == NULL)
        command_wrong("%s: this is not UTF-8 text", name);
    return text;
}

/* Returns the value as JSON. For a key that takes words, this is a string. For another key, the
 * text is parsed as JSON; a text that is not JSON becomes a string. */
static json_t *typed(const char *name, const char *key, const char *value)
{
    json_t *json = is_word(key) ? NULL : json_loads(value, JSON_DECODE_ANY, NULL);
    if (strcmp(key, "attach") == 0 && json_is_integer(json)) {
        const pid_t thread = (pid_t)json_integer_value(json);
        json_decref(json);
        return client_thread_key(thread);
    }
    return json != NULL ? json : text_of(name, value);
}

/* Appends a pair, and takes over the value. value NULL: the key is removed from the spec. */
static void append(struct needs *needs, const char *key, json_t *value)
{
    json_t *pair = json_pack("[s]", key);
    if (value != NULL)
        json_array_append_new(pair, value);
    if (needs->pairs == NULL)
        needs->pairs = json_array();
    json_array_append_new(needs->pairs, pair);
}

static void check_key(const char *pair, size_t length)
{
    if (length == 0 || length >= KEY_MAX || strspn(pair, "abcdefghijklmnopqrstuvwxyz_") != length)
        command_wrong("%s: this must be KEY=VALUE, with a key of rtf-spec(5)", command_typed(pair));
}

static void add_priority(struct needs *needs, const char *name, const char *value)
{
    uint64_t priority;
    if (!parse_number(value, PRIORITY_MAX, &priority) || priority == 0)
        command_wrong("%s %s: a priority must be from 1 to %d", name, command_typed(value),
                      PRIORITY_MAX);
    append(needs, "priority", json_integer((json_int_t)priority));
}

static void check_cpus(const char *name, const char *value)
{
    cpu_set_t set;
    if (strcmp(value, "all") != 0 && !parse_cpus(value, &set))
        command_wrong("%s %s: it must be a list of CPUs such as 0-3,6, or all", name,
                      command_typed(value));
}

static void add_time(struct needs *needs, const char *name, const char *key, const char *value)
{
    const uint64_t time = command_time(name, value);
    append(needs, key,
           needs->in_microseconds ? json_integer((json_int_t)time) : json_string(value));
}

/* Checks the value of a key, and adds key and value. name: the option or key, for messages. */
static void add(struct needs *needs, const char *name, const char *key, const char *value)
{
    if (strchr(value, '\n') != NULL)
        command_wrong("%s: the value is more than one line", key);
    if (strcmp(key, "cpus") == 0)
        check_cpus(name, value);
    else if (strcmp(key, "attach") == 0)
        (void)command_number(name, value);
    if (is_time(key))
        add_time(needs, name, key, value);
    else if (strcmp(key, "priority") == 0)
        add_priority(needs, name, value);
    else
        append(needs, key, typed(name, key, value));
}

/* Adds a key. The word "null" becomes JSON's null, unless the command needs a value for each key
 * (in_microseconds). */
static void add_or_null(struct needs *needs, const char *name, const char *key, const char *value)
{
    if (strcmp(value, "null") == 0 && !needs->in_microseconds)
        append(needs, key, json_null());
    else
        add(needs, name, key, value);
}

void needs_add(struct needs *needs, const char *key, const char *value)
{
    append(needs, key, typed(key, key, value));
}

void needs_add_pair(struct needs *needs, const char *pair)
{
    char key[KEY_MAX];
    const size_t length = strcspn(pair, "=");
    check_key(pair, length);
    snprintf(key, sizeof key, "%.*s", (int)length, pair);
    if (pair[length + 1] == '\0')
        append(needs, key, NULL);
    else
        add_or_null(needs, key, key, pair + length + 1);
}

/* Writes the name of the option for messages: its letter, such as -T, or --NAME. */
static void name_option(const char *option, char name[static KEY_MAX])
{
    const struct command_option *known = needs_options;
    while (known->name != NULL && strcmp(known->name, option) != 0)
        known++;
    if (known->letter != '\0')
        snprintf(name, KEY_MAX, "-%c", known->letter);
    else
        snprintf(name, KEY_MAX, "--%s", option);
}

/* Adds the key of an option: --desired-runtime sets the key desired_runtime. An empty value removes
 * the key from the spec, but is wrong for a time or a priority. */
static void add_option(struct needs *needs, const char *option, const char *value)
{
    char key[KEY_MAX], name[KEY_MAX];
    name_option(option, name);
    snprintf(key, sizeof key, "%s", option);
    for (char *at = key; *at != '\0'; at++)
        if (*at == '-')
            *at = '_';
    if (value[0] == '\0' && !is_time(key) && strcmp(key, "priority") != 0)
        append(needs, key, NULL);
    else
        add_or_null(needs, name, key, value);
}

/* Parses MIN-MAX, MIN- or -MAX. */
static json_t *clamp_option(const char *value)
{
    char least[8] = "";
    uint64_t number;
    json_t *clamp = json_object();
    const size_t length = strcspn(value, "-");
    if (value[length] == '-' && length < sizeof least) {
        snprintf(least, sizeof least, "%.*s", (int)length, value);
        if (parse_number(least, CLAMP_MAX, &number))
            json_object_set_new(clamp, "min", json_integer((json_int_t)number));
        if (parse_number(value + length + 1, CLAMP_MAX, &number))
            json_object_set_new(clamp, "max", json_integer((json_int_t)number));
    }
    const size_t stated =
        (length > 0 ? 1U : 0U) + (value[length] != '\0' && value[length + 1] != '\0' ? 1U : 0U);
    if (stated == 0 || json_object_size(clamp) != stated)
        command_wrong("--clamp %s: this must be MIN-MAX, MIN- or -MAX, each a number from 0 to %d",
                      command_typed(value), CLAMP_MAX);
    return clamp;
}

static void add_net(struct needs *needs, const char *value)
{
    json_decref(text_of("--net", value));
    append(needs, "network", net_option(value));
}

static void add_set(struct needs *needs, const char *pair)
{
    if (strchr(pair, '=') == NULL)
        command_wrong("--set %s: this must be KEY=VALUE, with a key of rtf-spec(5)",
                      command_typed(pair));
    needs_add_pair(needs, pair);
}

bool needs_take(struct needs *needs, const char *option, const char *value)
{
    static const char *const keys[] = {"runtime",  "period",      "deadline",    "desired-runtime",
                                       "priority", "plugin",      "cpus",        "expires",
                                       "comment",  "lock-memory", "cpu-latency", "nice",
                                       NULL};
    static const char chrt[] = "sched-";
    option += strncmp(option, chrt, sizeof chrt - 1) == 0 ? sizeof chrt - 1 : 0;
    if (is_one_of(option, keys))
        add_option(needs, option, value);
    else if (strcmp(option, "ignore-admission") == 0)
        append(needs, "ignore_admission", json_true());
    else if (strcmp(option, "whole") == 0)
        append(needs, "budget", json_string("process"));
    else if (strcmp(option, "clamp") == 0)
        append(needs, "clamp", value[0] == '\0' ? NULL : clamp_option(value));
    else if (strcmp(option, "net") == 0)
        add_net(needs, value);
    else if (strcmp(option, "disk") == 0)
        needs->disk = value;
    else if (strcmp(option, "set") == 0)
        add_set(needs, value);
    else
        return false;
    return true;
}

bool needs_are_stated(const struct needs *needs)
{
    return needs->pairs != NULL || needs->disk != NULL;
}

static void add_disk(struct needs *needs)
{
    char why[DISK_OPTION_WHY];
    json_t *claim = disk_option(needs->disk, command_spool(), why);
    if (claim == NULL)
        command_wrong("--disk %s: %s", command_typed(needs->disk), command_typed(why));
    append(needs, "disk", claim);
}

void needs_lay_over(struct needs *needs, json_t *spec)
{
    const json_t *pair;
    size_t i;
    if (needs->disk != NULL)
        add_disk(needs);
    json_array_foreach(needs->pairs, i, pair)
    {
        const char *key = json_string_value(json_array_get(pair, 0));
        if (json_array_size(pair) == 1)
            (void)json_object_del(spec, key);
        else
            (void)json_object_set(spec, key, json_array_get(pair, 1));
    }
}

/* ---- the spec of -f FILE ---- */

/* Opens the file of -f. Uses O_NONBLOCK and refuses a FIFO, because a FIFO must not make this
 * process wait. Only standard input may be a FIFO. */
static int open_spec(const char *file)
{
    struct stat status;
    const int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        command_fail(EX_NOINPUT, "%s cannot be read: %s", command_typed(file), strerror(errno));
    if (!S_ISREG(status.st_mode))
        command_fail(EX_NOINPUT, "%s cannot be read: it is not a regular file",
                     command_typed(file));
    return fd;
}

json_t *needs_read_spec(const char *file)
{
    if (file == NULL)
        return json_object();
    const bool is_input = strcmp(file, "-") == 0;
    const int fd = is_input ? STDIN_FILENO : open_spec(file);
    json_error_t error;
    json_t *spec = json_loadfd(fd, 0, &error);
    if (spec == NULL)
        command_fail(EX_DATAERR, "%s: this is not one JSON object: line %d, column %d: %s",
                     is_input ? "standard input" : command_typed(file), error.line, error.column,
                     command_typed(error.text));
    if (!json_is_object(spec))
        command_fail(EX_DATAERR, "%s: this is not one JSON object",
                     is_input ? "standard input" : command_typed(file));
    if (fd != STDIN_FILENO)
        close(fd);
    return spec;
}
