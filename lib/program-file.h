/* A program file is a NAME.json that reserves for threads of one process, program or cgroup, which
 * it chooses by the threads' names; see rtf-spec(5). The text is hostile: a process with only the
 * user's rights parses it. */
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
    /* the inode of the process's pidfd, stated if `process` may be a number in another pid
     * namespace; the reader then sets `process` to the number in its own namespace, or
     * `process_unseen` to the number of a process that it cannot find (then `process` is TID_MAX,
     * which no process has) */
    uint64_t process_inode;
    pid_t process_unseen;
    char path[PROGRAM_PATH_BYTES], group[PROGRAM_PATH_BYTES];
    bool hold;    /* the capacity stays reserved while the program does not run */
    bool waits;   /* a thread that appears later waits for capacity */
    bool ends;    /* the file ends with the process */
    char *token;  /* NULL: not stated */
    char *plugin; /* the plugin of rules that state no plugin; NULL: any */
    /* what the first thread of each process has in addition to the needs of its rule, because it is
     * for the whole process: lock_memory, cpu_latency, and claims on a network or a disk */
    struct spec whole;
    int rule_count;
    struct rule rules[RULES_MAX];
};

/* Parses the text of a NAME.json as a program file. NOT: the text has no key "threads" at the top
 * level, so it is no program file. BAD: *reason says what is wrong; of *file only the token is of
 * use. The caller frees *file with program_free if it is not NULL. */
enum program_parsed { PROGRAM_NOT, PROGRAM_BAD, PROGRAM_GOOD };
enum program_parsed program_parse(const char *text, size_t length, struct program_file **file,
                                  char reason[static REASON_BYTES]);
void program_free(struct program_file *file);

/* True if a rule may state this key of a spec; true if a program file may state this key of a spec
 * beside its rules, for the whole process. */
bool rule_may_state(const char *key);
bool program_may_state(const char *key);

/* True if the file states something for the whole process. */
bool program_states_whole(const struct program_file *file);

#endif
