/* Keeps the broker's programs alive: what launcher/ starts, supervise/ starts again. The broker has a dozen programs beside itself (the attach helper, the
 * guard, the writer of the log, plugins, ...). One struct program_description says what is particular to each. All have one state machine, and
 * one timer each:
 *
 *               supervise_start
 *     STOPPED ──────────┬─────────────────────────────┐
 *        ▲              │ a program that greets       │ other programs
 *        │              ▼                             ▼
 *        │           STARTING ──────────────────►  SERVING ──────────────────► ENDING
 *        │              │ ▲    supervise_greeted     │ ▲    supervise_finish     │
 *        │        fault │ │                     fault│ │                         │
 *        │              │ │ the pause is over        │ │ the pause is over       │
 *        │              ▼ │                          ▼ │                         │
 *        │             BACKING_OFF ◄───────────► BACKING_OFF                     │
 *        │                                                                       │
 *        └───────────────────────── its end, or a fault ─────────────────────────┘
 *
 * A fault: the program ends, does not greet or answer in time (supervise_expect), says what is no paragraph or what on_message refuses, or supervise_fail
 * says so. supervise_stop leads from every state to STOPPED. BACKING_OFF is one state; the picture has it twice.
 *
 * The timer is the time of the start in BACKING_OFF, the time of the greeting in STARTING, and the time of the next answer in SERVING; elsewhere it is not set.
 * A program that owes nothing has no timer, so an idle broker sleeps.
 *
 * Back-off: the first start after a fault comes at once. After each further fault the pause is first_pause, and twice as long each time, up to longest_pause. A
 * program that has served longer than behaves_after begins anew. A program that cannot be started is tried again after longest_pause.
 *
 * Readers have a machine of their own (model/reader.h): a reader belongs to a user, ends when it has nothing to do, and its inotify instance outlives it. */
#ifndef RTF_SUPERVISE_H
#define RTF_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "coprocess.h"
#include "launcher.h"

enum program_state { PROGRAM_STOPPED, PROGRAM_STARTING, PROGRAM_SERVING, PROGRAM_BACKING_OFF, PROGRAM_ENDING };

struct program;

/* The pauses of most programs: at most one start in a second. */
#define SUPERVISE_SECOND INT64_C(1000000000) /* ns */
#define SUPERVISE_EACH_SECOND .first_pause = SUPERVISE_SECOND, .longest_pause = SUPERVISE_SECOND, .behaves_after = SUPERVISE_SECOND

/* Why a program that did not greet was killed. */
#define SUPERVISE_NO_GREETING "it did not greet in time"

/* Callbacks may be NULL. */
struct program_description {
    const char *name;      /* in the log: "the guard" */
    const char *meanwhile; /* the log adds: what does not work until the program serves again; NULL */
    bool is_plugin;        /* the log tells of it as of a plugin (rtf-events(5)) */
    enum child_kind kind;
    enum coprocess_talk talk;
    int64_t first_pause, longest_pause, behaves_after; /* ns */
    int64_t greets_within;                             /* ns; 0: the program serves as soon as it is started */

    /* It has been started; `again`: after a fault. Here it is told all that it has to know. */
    void (*on_start)(struct program *program, bool again);

    /* What it says. The callback takes *fd over by setting it to -1. False: it makes no sense, which is a fault. */
    bool (*on_message)(struct program *program, const struct paragraph *said, int *fd);

    /* Its socket may have room. */
    void (*on_room)(struct program *program);

    /* After a fault, when the program is BACKING_OFF already. */
    void (*on_gone)(struct program *program, const char *why);

    /* Takes over a descriptor that on_message has left; NULL: it is closed. */
    void (*dispose)(int fd);
};

struct program {
    const struct program_description *of;
    enum program_state state;
    struct coprocess process;
    struct timer timer;
    int child;                /* the launcher's number for it */
    int input, keep;          /* as coprocess_start */
    int64_t started, pause;   /* CLOCK_MONOTONIC; ns */
    bool has_failed;          /* once, at least */
    int64_t within;           /* what supervise_expect was told last */
};

/* Where deaths and starts are told. `plugin`: the name of a plugin; NULL: the sentence is of the broker itself. */
typedef void supervise_log(const char *plugin, const char *decision, const char *sentence);
void supervise_log_to(supervise_log *log);

/* Before the launcher is forked. argv[0] is an absolute path; all of argv is copied. `program` does not move from here on. */
void supervise_prepare(struct program *program, const struct program_description *of, char *const argv[], struct identity_to_run_as as);

/* With `keep` as its descriptor 3, or -1. `input`: its standard input with COPROCESS_FED; otherwise -1. Both stay the caller's, and stay open: they are for
 * later starts, too. False with errno: it is STOPPED; or, because of on_start, BACKING_OFF. */
bool supervise_start(struct program *program, int input, int keep);

/* It has greeted. */
void supervise_greeted(struct program *program);

/* While it is SERVING: it has so long, from now on, to say something; INT64_MAX: it owes nothing. What the broker was kept from reading is not late. */
void supervise_expect(struct program *program, int64_t within);

/* Something is wrong with it: `why` is a sentence. Nothing is done if it does not run. */
void supervise_fail(struct program *program, const char *why);

/* It is about to end by itself: that is no fault. */
void supervise_finish(struct program *program);
void supervise_stop(struct program *program);

/* It can be told something, and may say something. */
bool supervise_runs(const struct program *program);

/* For when there is nothing else to do. Starts it now, if it is BACKING_OFF. True: it runs. */
bool supervise_hurry(struct program *program);

/* Waits until it has said something, or its pipe has room, and takes that. False: it does not run, or it is `until` (CLOCK_MONOTONIC, ns) by now. */
bool supervise_wait(struct program *program, int64_t until);

#endif
