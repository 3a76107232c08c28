/* Keeps the broker's programs alive: launcher/ starts programs, and supervise/ has them started
 * again. The broker's programs are the attach helper, the guard, the writer of the log, the
 * plugins, and others. Each program has one struct program_description, one timer, and this state
 * machine:
 *
 *             supervise_start
 *     STOPPED ───────┬──────────────────────────┐
 *        ▲           │ a program that greets    │ another program
 *        │           ▼      supervise_greeted   ▼      supervise_finish
 *        │        STARTING ─────────────────► SERVING ──────────────────► ENDING
 *        │         │    ▲                      │   ▲                        │
 *        │   fault │    │ the pause      fault │   │ the pause              │
 *        │         ▼    │ is over              ▼   │ is over                │
 *        │       ┌──────┴──────────────────────────┴──┐                     │
 *        │       │            BACKING_OFF             │                     │
 *        │       └────────────────────────────────────┘                     │
 *        └─────────────────────── its end, or a fault ──────────────────────┘
 *
 * These are faults: the program ends; the program does not greet or answer in time
 * (supervise_expect); the program sends bytes that are no paragraph, or a paragraph that on_message
 * refuses; a caller reports a fault (supervise_fail). supervise_stop leads from every state to
 * STOPPED.
 *
 * The timer is the time of the start in BACKING_OFF, the time of the greeting in STARTING, and the
 * time of the next answer in SERVING. In the other states the timer is not set. A program that owes
 * no answer has no timer, so an idle broker sleeps.
 *
 * The broker starts a program again at once after the first fault. After the next fault the broker
 * waits first_pause, and then twice as long each time, up to longest_pause. When a program has
 * served longer than behaves_after, its next fault counts as the first. When a program cannot be
 * started, the broker tries again after longest_pause.
 *
 * Readers have a machine of their own (model/reader.h). */
#ifndef RTF_SUPERVISE_H
#define RTF_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "coprocess.h"
#include "launcher.h"

enum program_state {
    PROGRAM_STOPPED,
    PROGRAM_STARTING,
    PROGRAM_SERVING,
    PROGRAM_BACKING_OFF,
    PROGRAM_ENDING
};

struct program;

/* The pauses of programs that are started again at most once a second. */
#define SUPERVISE_SECOND INT64_C(1000000000) /* ns */
#define SUPERVISE_EACH_SECOND                                           \
    .first_pause = SUPERVISE_SECOND, .longest_pause = SUPERVISE_SECOND, \
    .behaves_after = SUPERVISE_SECOND

/* The sentence about a program that did not greet in time. */
#define SUPERVISE_NO_GREETING "it did not greet in time"

/* The description of a program. Each callback may be NULL. */
struct program_description {
    const char *name; /* the name in the log, such as "the guard" */
    /* a sentence for the log about what does not work until the program serves again; NULL: no such
     * sentence */
    const char *meanwhile;
    /* log lines about the program have the stage "plugin" (rtf-events(5)), and also say when the
     * program begins to serve */
    bool is_plugin;
    enum child_kind kind;
    enum coprocess_talk talk;
    int64_t first_pause, longest_pause, behaves_after; /* ns */
    /* ns: the time until the greeting; 0: the program sends no greeting, and serves as soon as it
     * is started */
    int64_t greets_within;

    /* The program has been started; `again`: after a fault. The callback sends the program the
     * facts that it needs, because a new process knows none. */
    void (*on_start)(struct program *program, bool again);

    /* The program has sent a paragraph, perhaps with a descriptor. To take the descriptor over, the
     * callback sets *fd to -1. The callback returns false if the paragraph is a fault. */
    bool (*on_message)(struct program *program, const struct paragraph *said, int *fd);

    /* The program's pipe or socket may have room again. */
    void (*on_room)(struct program *program);

    /* The program had a fault, and is in the state BACKING_OFF. */
    void (*on_gone)(struct program *program, const char *why);

    /* Takes over a descriptor that on_message has not taken over. NULL: supervise closes such a
     * descriptor. */
    void (*dispose)(int fd);
};

struct program {
    const struct program_description *of;
    enum program_state state;
    struct coprocess process;
    struct timer timer;
    int child;              /* the number by which the launcher knows the program */
    int input, keep;        /* the arguments `input` and `keep_fd` of coprocess_start */
    int64_t started, pause; /* CLOCK_MONOTONIC; ns */
    bool has_failed;        /* the program has had a fault before */
    int64_t within;         /* the argument of the last supervise_expect */
};

/* A function that writes the faults and starts of programs to the log. `plugin`: the name of the
 * plugin; NULL: the program is no plugin. */
typedef void supervise_log(const char *plugin, const char *decision, const char *sentence);
void supervise_log_to(supervise_log *log);

/* Call this before the launcher is forked. argv[0] is an absolute path. The function copies argv.
 * From here on `program` must stay at its address. */
void supervise_prepare(struct program *program, const struct program_description *of,
                       char *const argv[], struct identity_to_run_as as);

/* `keep` becomes descriptor 3 of the program; -1: none. `input` becomes the
 * standard input of a COPROCESS_FED program; for other programs the caller passes -1. The caller
 * keeps both open, because later starts need them, too.
 * False with errno: the program is STOPPED; or, after a fault in on_start, BACKING_OFF. */
bool supervise_start(struct program *program, int input, int keep);

/* Call this when the program has greeted. */
void supervise_greeted(struct program *program);

/* In SERVING: it is a fault if the program sends no bytes within this time (ns) from now on;
 * INT64_MAX: the broker waits for no answer. Bytes that are in the pipe, and that the broker has
 * had no time to read, are not late. In other states the function does nothing. */
void supervise_expect(struct program *program, int64_t within);

/* Reports a fault; `why` is a sentence. The function does nothing if the program does not run. */
void supervise_fail(struct program *program, const char *why);

/* Expects the program to end: from here on its end is no fault. */
void supervise_finish(struct program *program);
void supervise_stop(struct program *program);

/* True in the states STARTING, SERVING and ENDING. */
bool supervise_runs(const struct program *program);

/* If the program is BACKING_OFF, starts it at once instead of after the pause, for callers that
 * wait for an answer. True: the program runs. */
bool supervise_hurry(struct program *program);

/* Waits until the program has sent bytes or its pipe has room, and handles the paragraphs that have
 * come. False: the program does not run, or the time `until` (CLOCK_MONOTONIC, ns) has come. */
bool supervise_wait(struct program *program, int64_t until);

#endif
