/* Parses the command line of a command of rtf(1) that is written in C, and prints the command's
 * messages. A table lists the options of the command. The text of --help is made from this table,
 * and the completions for shells read the text. Wrong usage ends the process with a message of one
 * sentence. */
#ifndef RTF_COMMAND_LINE_H
#define RTF_COMMAND_LINE_H

#include <stdbool.h>
#include <stdint.h>

struct command_option {
    char letter; /* 0: none */
    const char *name;
    /* "TIME"; NULL: the option takes no value; "[=TIME]": the value is optional, and stands behind
     * "=" */
    const char *argument;
    const char *help; /* NULL: --help does not list the option */
};

/* An entry of a table of options that stands for all options of command.needs. */
#define COMMAND_NEEDS          \
    {                          \
        0, "needs", NULL, NULL \
    }

struct command {
    const char *name;    /* "declare" */
    const char *program; /* the first words of messages; NULL: "rtf NAME" */
    const char *about, *operands;
    const char *closing;                  /* the last lines of --help; NULL: none */
    const struct command_option *options; /* ends with an option without a name */
    const struct command_option *needs;   /* needs_options, if the table has COMMAND_NEEDS */
    /* " runtime period ": the command takes only these options of `needs`; NULL: all of them */
    const char *needs_named;
    /* true: the operands are a command with options of its own, so this command's options end at
     * the first operand */
    bool runs_command;
    /* the exit status after any failure of the command itself; 0: the statuses of sysexits(3) */
    int failure;
    /* command_parse calls this function for each option of the command line. name: the option's
     * name in the table. value NULL: the option has no value. */
    void (*take)(void *context, const char *name, const char *value);
};

/* Reads the command line. Call this before all other functions of this header. Options may stand
 * behind operands, unless the command runs a command, but not behind "--". Returns the operands, a
 * part of argv that ends with NULL. */
char **command_parse(const struct command *command, int argc, char **argv, void *context);

/* For a command that takes no operands. If there is an operand, the process ends with a message. */
void command_end_of_line(char *const operands[]);

/* Returns the directory of --spool, or the default directory. */
const char *command_spool(void);
bool command_states_spool(void);

/* Prints "rtf declare: SENTENCE" to standard error. Words of the command line must have gone
 * through command_typed, and texts of other users or programs through client_printable, because
 * such words and texts may have escape sequences for a terminal. */
__attribute__((format(printf, 1, 2))) void command_say(const char *format, ...);

__attribute__((format(printf, 2, 3), noreturn)) void command_fail(int status, const char *format,
                                                                  ...);

/* Like command_fail, with the exit status for wrong usage. The message of command_misused also
 * names --help. */
__attribute__((format(printf, 1, 2), noreturn)) void command_wrong(const char *format, ...);
__attribute__((format(printf, 1, 2), noreturn)) void command_misused(const char *format, ...);

/* Returns a copy of a word of the command line for a message: each byte other than printable ASCII
 * is a question mark. The copy is never freed. */
const char *command_typed(const char *word);

/* These functions return the values of options and operands. A wrong value ends the process with a
 * message that names `option`. Times are us. command_time takes a time of a spec (at most an hour),
 * and command_wait takes a time to wait (at most 366 days). command_name takes the name of a spec:
 * NAME, or NAME.json as a shell completes the file's name. command_name cuts .json off in place,
 * and returns NAME. */
uint64_t command_time(const char *option, const char *value);
uint64_t command_wait(const char *option, const char *value);
uint64_t command_number(const char *option, const char *value);
const char *command_name(char *word);

/* Checks the value of --name, and returns the value. */
const char *command_name_option(const char *value);

/* Flushes standard output. False: the output cannot be written. Then the caller undoes the work of
 * the command, and calls command_unwritten, which ends the process with EX_IOERR, with the
 * `failure` of struct command, or by SIGPIPE. */
bool command_is_written(void);
__attribute__((noreturn)) void command_unwritten(void);

/* Holds back SIGPIPE until command_unwritten: when the reader of standard output has ended, the
 * command must undo its work before the signal ends the process. */
void command_hold_pipe(void);

#endif
