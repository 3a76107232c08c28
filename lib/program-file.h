/* A program file is a spec file, NAME.json, with rules for the threads of one process, program or
 * cgroup. Each rule chooses threads by their names, and states the needs of these threads: see
 * rtf-spec(5). The text is hostile: a process with only the user's rights parses it. */
#ifndef RTF_PROGRAM_FILE_H
#define RTF_PROGRAM_FILE_H

#include "spec.h"

/* GLOB_BYTES: with the NUL. THREAD_NAME_BYTES: as TASK_COMM_LEN of the kernel. */
enum { RULES_MAX = 64, GLOB_BYTES = 65, PROGRAM_PATH_BYTES = 1024, THREAD_NAME_BYTES = 16 };

struct rule {
    char name[GLOB_BYTES]; /* a pattern with * and ? */
    bool leave;            /* true: the threads keep their scheduling, and `spec` is empty */
    struct spec spec;      /* with the plugin of the file if the rule states no plugin */
};

struct program_file {
    pid_t process; /* 0: `path` says which program, or `group` says which cgroup */
    /* the inode of the process's pidfd; stated if `process` may be a number in another pid
     * namespace. Then the reader sets `process` to the number in the reader's namespace. If the
     * reader cannot find the process, it sets `process` to TID_MAX, which no process has, and
     * `process_unseen` to the stated number */
    uint64_t process_inode;
    pid_t process_unseen;
    char path[PROGRAM_PATH_BYTES], group[PROGRAM_PATH_BYTES];
    bool hold;    /* the capacity stays reserved while the program does not run */
    bool waits;   /* true: a thread for which there is no capacity waits for capacity */
    bool ends;    /* the file ends with the process */
    char *token;  /* NULL: not stated */
    char *plugin; /* the plugin of rules that state no plugin; NULL: any */
    /* the needs of the whole process: lock_memory, cpu_latency, and claims on a network or a disk.
     * The first thread of each process has these needs, in addition to the needs of its rule */
    struct spec whole;
    int rule_count;
    struct rule rules[RULES_MAX];
};

/* Parses the text of a NAME.json as a program file. NOT: the text has no key "threads" at the top
 * level, so it is no program file. BAD: *reason says what is wrong, and no member of *file except
 * the token may be used. The caller frees *file with program_free if it is not NULL. */
enum program_parsed { PROGRAM_NOT, PROGRAM_BAD, PROGRAM_GOOD };
enum program_parsed program_parse(const char *text, size_t length, struct program_file **file,
                                  char reason[static REASON_BYTES]);
void program_free(struct program_file *file);

/* rule_may_state: true if a rule may state this key of a spec. program_may_state: true if a program
 * file may state this key of a spec beside its rules, for the whole process. */
bool rule_may_state(const char *key);
bool program_may_state(const char *key);

/* True if the file states something for the whole process. */
bool program_states_whole(const struct program_file *file);

#endif
