#include "command-line.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "client.h"
#include "name.h"
#include "paragraph.h"
#include "units.h"

enum { OPTIONS_MAX = 64, LETTERS = 2 * OPTIONS_MAX, COLUMN = 31, WIDTH = 79 };

static const struct command_option of_all[] = {{0, "spool", "DIR",
                                                "The spool (default: " RTF_SPOOL ")"},
                                               {'?', "help", NULL, "Print this text"},
                                               {'V', "version", NULL, "Print the version"},
                                               {0}};

/* The command line of this process. */
static struct {
    const struct command *command;
    const char *spool; /* NULL: --spool is not stated */
    /* the command's own options, the options of `needs`, and the options that every command has */
    const struct command_option *options[OPTIONS_MAX];
    int count;
} line;

/* ---- messages ---- */

/* Returns "rtf declare", or the name of a program such as rtf-run(1). */
static const char *program(void)
{
    static char text[64];
    snprintf(text, sizeof text, "rtf %s", line.command->name);
    return line.command->program != NULL ? line.command->program : text;
}

static int failure(int usual)
{
    return line.command->failure != 0 ? line.command->failure : usual;
}

static void say(const char *format, va_list values, const char *more)
{
    fprintf(stderr, "%s: ", program());
    vfprintf(stderr, format, values);
    fprintf(stderr, "%s\n", more);
}

void command_say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(format, values, "");
    va_end(values);
}

void command_fail(int status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(format, values, "");
    va_end(values);
    exit(failure(status));
}

void command_wrong(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(format, values, "");
    va_end(values);
    exit(failure(EX_USAGE));
}

void command_misused(const char *format, ...)
{
    char more[80];
    va_list values;
    va_start(values, format);
    snprintf(more, sizeof more, " ('rtf %.32s --help' tells more)", line.command->name);
    say(format, values, more);
    va_end(values);
    exit(failure(EX_USAGE));
}

const char *command_typed(const char *word)
{
    char *copy = strdup(word);
    return copy == NULL ? "?" : paragraph_clean(copy);
}

bool command_is_written(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}

void command_hold_pipe(void)
{
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigprocmask(SIG_BLOCK, &pipe, NULL);
}

void command_unwritten(void)
{
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigprocmask(SIG_UNBLOCK, &pipe, NULL);
    command_fail(EX_IOERR, "standard output cannot be written");
}

/* ---- values ---- */

/* Parses the value of an option as a time. take: client_take_time or client_take_wait; these differ
 * in the longest time. */
static uint64_t command_take(const char *option, const char *value,
                             const char *(*take)(const char *value, uint64_t *time))
{
    uint64_t time = 0;
    const char *wrong = take(value, &time);
    if (wrong != NULL)
        command_wrong("%s %s: %s", option, command_typed(value), wrong);
    return time;
}

uint64_t command_time(const char *option, const char *value)
{
    return command_take(option, value, client_take_time);
}

uint64_t command_wait(const char *option, const char *value)
{
    return command_take(option, value, client_take_wait);
}

uint64_t command_number(const char *option, const char *value)
{
    uint64_t number = 0;
    if (!parse_number(value, UINT64_C(999999999999999), &number))
        command_wrong("%s %s: this takes a whole number", option, command_typed(value));
    return number;
}

const char *command_name(char *word)
{
    static const char suffix[] = ".json";
    const size_t length = strlen(word), tail = sizeof suffix - 1;
    if (length > tail && strcmp(word + length - tail, suffix) == 0)
        word[length - tail] = '\0';
    if (reservation_name_of_program(word) != 0)
        command_wrong(
            "%s is a thread of the program %.*s: use the name %.*s, which stands for all its threads",
            command_typed(word), (int)reservation_name_of_program(word), word,
            (int)reservation_name_of_program(word), word);
    if (!client_name_ok(word))
        command_wrong("%s: " CLIENT_NAME_RULE, command_typed(word));
    return word;
}

const char *command_name_option(const char *value)
{
    if (!client_name_ok(value))
        command_wrong("--name %s: " CLIENT_NAME_RULE, command_typed(value));
    return value;
}

/* ---- the table ---- */

/* True if the name is in a list such as " runtime period ". */
static bool is_named(const char *name, const char *list)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

static void add_options(const struct command_option *options, const char *named)
{
    for (; options->name != NULL && line.count < OPTIONS_MAX; options++)
        if (strcmp(options->name, "needs") == 0)
            add_options(line.command->needs, line.command->needs_named);
        else if (named == NULL || is_named(options->name, named))
            line.options[line.count++] = options;
}

static bool is_optional(const struct command_option *option)
{
    return option->argument != NULL && strncmp(option->argument, "[=", 2) == 0;
}

/* Prints a text, with line breaks between words, for a terminal of 80 columns. The caller has
 * printed up to the column `indent`; each further line begins in this column. */
static void print_text(const char *text, int indent)
{
    int at = indent;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " \n");
        if (at > indent && (at + 1 + length > WIDTH || text[-1] == '\n')) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        printf("%.*s", length, text);
        at += length;
        text += length + (text[length] != '\0');
    }
    putchar('\n');
}

static void print_option(const struct command_option *option)
{
    char left[80];
    const char letter[] = {option->letter, '\0'},
               *argument = option->argument == NULL ? "" : option->argument;
    if (option->help == NULL)
        return;
    snprintf(left, sizeof left, "  %s%s%s--%s%s%s", letter[0] == '\0' ? "    " : "-", letter,
             letter[0] == '\0' ? "" : ", ", option->name,
             option->argument == NULL || is_optional(option) ? "" : "=", argument);
    if (strlen(left) < COLUMN - 1)
        printf("%-*s", COLUMN, left);
    else
        printf("%s\n%*s", left, COLUMN, "");
    print_text(option->help, COLUMN);
}

__attribute__((noreturn)) static void end_printed(void)
{
    if (!command_is_written())
        command_unwritten();
    exit(EX_OK);
}

__attribute__((noreturn)) static void print_help(void)
{
    const char *name = line.command->name;
    printf("Usage: %s %s\n", program(), line.command->operands);
    print_text(line.command->about, 0);
    putchar('\n');
    for (int i = 0; i < line.count; i++)
        print_option(line.options[i]);
    if (line.command->closing != NULL) {
        putchar('\n');
        print_text(line.command->closing, 0);
    }
    printf("\n'rtf help %s' opens the manual page.\n", name);
    end_printed();
}

__attribute__((noreturn)) static void print_version(void)
{
    printf("%s " RTF_VERSION "\n", program());
    end_printed();
}

static void take(void *context, const struct command_option *option, const char *value)
{
    if (strcmp(option->name, "spool") == 0)
        line.spool = value;
    else if (strcmp(option->name, "help") == 0)
        print_help();
    else if (strcmp(option->name, "version") == 0)
        print_version();
    else
        line.command->take(context, option->name, value);
}

/* ---- getopt_long(3) ---- */

enum { FIRST = 256 }; /* the value of the first long option: above all letters */

/* Makes the arguments of getopt_long(3) from the table of options. `letters` does not have the
 * letter of the option "-?", because getopt_long also returns '?' for errors; refuse() finds this
 * letter in optopt. */
static void prepare(char letters[static LETTERS], struct option longs[static OPTIONS_MAX + 1])
{
    char *at = letters;
    if (line.command->runs_command)
        *at++ = '+'; /* options end at the first operand */
    *at++ = ':';
    for (int i = 0; i < line.count; i++) {
        const struct command_option *option = line.options[i];
        const int has_value = option->argument == NULL ? no_argument
                              : is_optional(option)    ? optional_argument
                                                       : required_argument;
        longs[i] = (struct option){.name = option->name, .has_arg = has_value, .val = FIRST + i};
        if (option->letter == '\0' || option->letter == '?')
            continue;
        *at++ = option->letter;
        if (option->argument != NULL)
            *at++ = ':';
    }
    *at = '\0';
    longs[line.count] = (struct option){0};
}

static const struct command_option *option_of(int key)
{
    if (key >= FIRST)
        return line.options[key - FIRST];
    for (int i = 0; i < line.count; i++)
        if (line.options[i]->letter == key)
            return line.options[i];
    return NULL;
}

/* Returns the option at which getopt_long has stopped, for a message: the letter of the option, or
 * its name without a value, such as --keep for "--keep=yes". */
static const char *word_at(char **argv)
{
    static char letter[] = "-?";
    char *word = argv[optind - 1];
    if (optopt != 0 && optopt < FIRST) { /* a letter outside of ASCII is below 0 */
        letter[1] = (char)optopt;
        return command_typed(letter);
    }
    word[strcspn(word, "=")] = '\0';
    return command_typed(word);
}

__attribute__((noreturn)) static void refuse(char **argv, int key)
{
    if (optopt == '?' || optopt == 'h')
        print_help();
    if (key == ':')
        command_misused("%s needs a value", word_at(argv));
    if (optopt >= FIRST)
        command_misused("%s takes no value", word_at(argv));
    command_misused("there is no option %s", word_at(argv));
}

char **command_parse(const struct command *command, int argc, char **argv, void *context)
{
    char letters[LETTERS];
    struct option longs[OPTIONS_MAX + 1];
    int key;
    line.command = command;
    client_hold_standard_fds();
    /* if this variable is set, getopt_long takes no option behind an operand */
    (void)unsetenv("POSIXLY_CORRECT");
    add_options(command->options, NULL);
    add_options(of_all, NULL);
    prepare(letters, longs);
    opterr = 0;
    while ((key = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (key == '?' || key == ':')
            refuse(argv, key);
        take(context, option_of(key), optarg);
    }
    return argv + optind;
}

void command_end_of_line(char *const operands[])
{
    if (operands[0] != NULL)
        command_misused("the command takes no operand, but got %s", command_typed(operands[0]));
}

const char *command_spool(void)
{
    return line.spool != NULL ? line.spool : RTF_SPOOL;
}

bool command_states_spool(void)
{
    return line.spool != NULL;
}
