/* An experiment, as described in section 5 of paper 004, with the additions of muse(5). Times are
 * ns. */
#ifndef RTF_MUSE_EXPERIMENT_H
#define RTF_MUSE_EXPERIMENT_H

#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXPERIMENT_BYTES_MAX = 1 << 20,
    EXPERIMENT_WHY = 512,
    THREADS_MAX = 1024,
    PHASES_MAX = 256,
    RESOURCES_MAX = 4096
};

/* COMMAND_QUANTUM: the CPU time that counts as one job of a command, in ns. */
enum { COMMAND_QUANTUM = 100000, COMMAND_WORDS = 1024 };

enum policy { POLICY_OTHER, POLICY_BATCH, POLICY_IDLE, POLICY_FIFO, POLICY_RR, POLICY_DEADLINE };

enum phase_kind {
    PHASE_COMPUTE,
    PHASE_LOCK,
    PHASE_MEMORY,
    PHASE_SHARED,
    PHASE_SLEEP,
    PHASE_BUSY,
    PHASE_WATCH,
    PHASE_USER
};

enum module { MODULE_SUPPLY = 1, MODULE_RUNMAP = 2, MODULE_MIGRATIONS = 4, MODULE_STATISTICAL = 8 };

/* READ_TO_ANALYSE: the analysis needs no phases, so they may be missing. */
enum reader { READ_TO_RUN, READ_TO_ANALYSE };

struct phase {
    enum phase_kind kind;
    int64_t loops;
    int64_t resource; /* the resource of a lock phase */
    int64_t doubles;  /* how many numbers a memory phase writes */
    int64_t duration; /* the length of a sleep phase; the CPU time of a busy or watch phase */
    char *library;    /* the library of a user phase */
    const char *name;
};

struct member {
    const char *name;
    enum policy policy;
    bool has_policy, analysed, has_cpus;
    unsigned modules;
    int64_t priority, budget, period, deadline; /* 0: not stated */
    /* the nominal length of a job; 0: the length of the shortest job */
    int64_t nominal;
    bool nominal_cpu_time; /* true: `nominal` has to become the mean CPU time of the jobs */
    cpu_set_t cpus;
    struct phase *phases;
    size_t phase_count;
    const json_t *reservation; /* a spec; NULL: no reservation */
    const json_t *command;     /* an array of strings; NULL: the thread has phases */
};

struct experiment {
    struct member *threads;
    size_t thread_count;
    int64_t resources, shared_bytes;
    int64_t duration, horizon;
    int64_t processors; /* the number of CPUs for the global rate; 0: not stated */
    enum policy default_policy;
    bool global_analysed;
    bool compat;
    enum reader reader;
    json_t *json;
};

#endif
