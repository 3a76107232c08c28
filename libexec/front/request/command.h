/* The command line of a command of rtf(1) that is written in C: its options are one table, of which --help is made, and of --help the shells' completions.
 * Wrong usage ends the command with 64 and one sentence. */
#ifndef RTF_COMMAND_H
#define RTF_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct command_option {
    char letter; /* 0: none */
    const char *name;
    const char *argument; /* NULL: the option takes no value */
    const char *help;
};

/* In a table: the options of command.needs stand here. */
#define COMMAND_NEEDS {0, "needs", NULL, NULL}

struct command {
    const char *name; /* "declare" */
    const char *about, *operands;
    const struct command_option *options; /* up to one without a name */
    const struct command_option *needs;   /* needs_options, where the table has COMMAND_NEEDS */
    /* An option that was given: the name as in the table, whatever was typed; value is NULL where it takes none. */
    void (*take)(void *context, const char *name, const char *value);
};

/* Reads the command line, first of all. Options stand anywhere before "--"; the operands stay in argv from the returned place on, to a NULL. */
char **command_parse(const struct command *command, int argc, char **argv, void *context);

/* For a command without operands: a word that is left ends the command with 64. */
void command_end_of_line(char *const operands[]);

/* --spool */
const char *command_spool(void);

/* "rtf declare: SENTENCE", to standard error. What was typed, or is somebody else's, goes through command_typed or client_printable before. */
__attribute__((format(printf, 1, 2)))
void command_say(const char *format, ...);

__attribute__((format(printf, 2, 3), noreturn))
void command_fail(int status, const char *format, ...);

/* The same with 64, and where more is told. */
__attribute__((format(printf, 1, 2), noreturn))
void command_misused(const char *format, ...);

/* A word of the command line for a message: what is no printable ASCII is a question mark. The copy lives until the end. */
const char *command_typed(const char *word);

/* Values of options, which end the command if they are wrong. option: as it is to be named. A name may have .json behind it, as a shell completes it:
 * returns it without. */
uint64_t command_time(const char *option, const char *value);
uint64_t command_wait(const char *option, const char *value);
uint64_t command_number(const char *option, const char *value);
const char *command_name(char *word);

/* Standard output is complete: else the command has failed, which the caller is to put right before command_unwritten ends it with 74. */
bool command_is_written(void);
__attribute__((noreturn))
void command_unwritten(void);

/* From here on SIGPIPE waits for command_unwritten: nobody reads standard output any more, and what has failed by that is put right before. */
void command_hold_pipe(void);

#endif
