/* A program file: a NAME.json that reserves for the threads of one process or program by their
 * names, see rtf-spec(5). The text is hostile: a process with only the user's rights parses it. */
#ifndef RTF_SPEC_PROGRAM_H
#define RTF_SPEC_PROGRAM_H

#include "spec.h"

/* GLOB_BYTES: with the NUL. THREAD_NAME_BYTES: as TASK_COMM_LEN of the kernel. */
enum { RULES_MAX = 64, GLOB_BYTES = 65, PROGRAM_PATH_BYTES = 1024, THREAD_NAME_BYTES = 16 };

struct rule {
    char name[GLOB_BYTES]; /* a pattern with * and ? */
    bool leave;            /* the threads are left alone, and `spec` is empty */
    struct spec spec;      /* with the plugin of the file if the rule states none */
};

struct program_file {
    pid_t process; /* 0: `path` says which program */
    char path[PROGRAM_PATH_BYTES];
    bool hold;    /* the capacity stays reserved while the program does not run */
    bool waits;   /* a thread that appears later waits for room */
    bool ends;    /* the file ends with the process */
    char *token;  /* NULL: not stated */
    char *plugin; /* the plugin of rules that state none; NULL */
    int rule_count;
    struct rule rules[RULES_MAX];
};

/* NOT: the text has no key "threads" at the top, and is a spec or nothing. BAD: *reason says what is
 * wrong, and the program file has the token. The caller frees *file with program_free if it is not
 * NULL. */
enum program_parsed { PROGRAM_NOT, PROGRAM_BAD, PROGRAM_GOOD };
enum program_parsed program_parse(const char *text, size_t length, struct program_file **file,
                                  char reason[static REASON_BYTES]);
void program_free(struct program_file *file);

/* The first rule that matches this name of a thread; -1: none. */
int program_rule_for(const struct program_file *file, const char *name);

/* Any number of * costs at most the product of both lengths. */
bool glob_matches(const char *pattern, const char *name);

#endif
