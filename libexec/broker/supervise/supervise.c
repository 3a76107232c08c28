#include "supervise.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

enum { SENTENCE = 640 };

static supervise_log *supervise_tell;

void supervise_log_to(supervise_log *log)
{
    supervise_tell = log;
}

bool supervise_runs(const struct program *program)
{
    return program->state == PROGRAM_STARTING || program->state == PROGRAM_SERVING ||
           program->state == PROGRAM_ENDING;
}

/* ---- the log ---- */

static void supervise_tell_fault(const struct program *program, const char *why)
{
    const struct program_description *of = program->of;
    char sentence[SENTENCE];
    if (supervise_tell == NULL)
        return;
    if (of->is_plugin) {
        supervise_tell(of->name, "killed", why);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s is started again: %.400s%s%s", of->name, why,
             of->meanwhile == NULL ? "" : "; ", of->meanwhile == NULL ? "" : of->meanwhile);
    supervise_tell(NULL, "error", sentence);
}

static void supervise_tell_no_start(const struct program *program, int error)
{
    char sentence[SENTENCE];
    snprintf(sentence, sizeof sentence, "%s cannot be started: %s", program->of->name,
             strerror(error));
    if (supervise_tell != NULL)
        supervise_tell(NULL, "error", sentence);
}

/* ---- the state machine ---- */

static void supervise_go_to(struct program *program, enum program_state state, int64_t at)
{
    program->state = state;
    timer_set(&program->timer, at);
}

static bool supervise_run(struct program *program, bool again)
{
    const struct program_description *of = program->of;
    program->started = monotonic_now();
    if (!coprocess_start(&program->process, program->child, of->talk, program->input,
                         program->keep))
        return false;
    if (of->greets_within == 0)
        supervise_go_to(program, PROGRAM_SERVING, INT64_MAX);
    else
        supervise_go_to(program, PROGRAM_STARTING, program->started + of->greets_within);
    program->within = of->greets_within;
    if (of->on_start != NULL)
        of->on_start(program, again);
    return true;
}

static void supervise_run_again(struct program *program)
{
    if (supervise_run(program, true))
        return;
    supervise_tell_no_start(program, errno);
    supervise_go_to(program, PROGRAM_BACKING_OFF, monotonic_now() + program->of->longest_pause);
}

static int64_t supervise_longer(const struct program_description *of, int64_t pause)
{
    if (pause == 0)
        return of->first_pause;
    return pause * 2 < of->longest_pause ? pause * 2 : of->longest_pause;
}

static void supervise_gone(struct program *program, const char *why)
{
    const struct program_description *of = program->of;
    const int64_t now = monotonic_now();
    coprocess_kill(&program->process);
    if (program->state == PROGRAM_ENDING) {
        supervise_go_to(program, PROGRAM_STOPPED, INT64_MAX);
        return;
    }
    if (program->state == PROGRAM_SERVING && now - program->started > of->behaves_after)
        program->pause = 0;
    program->has_failed = true;
    supervise_go_to(program, PROGRAM_BACKING_OFF, now + program->pause);
    program->pause = supervise_longer(of, program->pause);
    supervise_tell_fault(program, why);
    if (of->on_gone != NULL)
        of->on_gone(program, why);
}

void supervise_fail(struct program *program, const char *why)
{
    if (supervise_runs(program))
        supervise_gone(program, why);
}

void supervise_greeted(struct program *program)
{
    if (program->state != PROGRAM_STARTING)
        return;
    supervise_go_to(program, PROGRAM_SERVING, INT64_MAX);
    if (program->of->is_plugin && supervise_tell != NULL)
        supervise_tell(program->of->name, program->has_failed ? "restarted" : "started", NULL);
}

void supervise_expect(struct program *program, int64_t within)
{
    if (program->state != PROGRAM_SERVING)
        return;
    program->within = within;
    timer_set(&program->timer, within == INT64_MAX ? INT64_MAX : monotonic_now() + within);
}

/* ---- messages of the program ---- */

/* Reads the bytes that have come. False: the program has ended. */
static bool supervise_read(struct program *program, int *fd)
{
    bool received;
    *fd = -1;
    if (program->of->talk == COPROCESS_SOCKET)
        return coprocess_receive(&program->process, &received, fd);
    if (program->process.writing)
        (void)coprocess_flush(&program->process);
    return coprocess_read(&program->process);
}

/* Handles the next paragraph. 1: there was a paragraph; 0: there was no complete paragraph; -1: the
 * paragraph was a fault. */
static int supervise_take_one(struct program *program, int *fd)
{
    struct paragraph said;
    const char *form;
    char why[SENTENCE];
    if (!supervise_runs(program))
        return -1;
    const int taken = paragraph_take(&program->process.input, &said, &form);
    if (taken == 0)
        return 0;
    if (taken < 0)
        snprintf(why, sizeof why, "it sends %s", form);
    else if (program->of->on_message != NULL && program->of->on_message(program, &said, fd))
        return 1;
    else
        snprintf(why, sizeof why, "it sends what its protocol does not allow");
    supervise_fail(program, why);
    return -1;
}

/* Handles all paragraphs that have come, also if the program has ended (`alive` is false), because
 * the paragraphs that it sent before its end still count. */
static void supervise_take(struct program *program, bool alive, int fd)
{
    int taken;
    while ((taken = supervise_take_one(program, &fd)) == 1)
        ;
    if (fd >= 0 && program->of->dispose != NULL)
        program->of->dispose(fd);
    else if (fd >= 0)
        close(fd);
    if (taken == 0 && !alive)
        supervise_gone(program, "it ended");
}

static void supervise_hear(struct program *program)
{
    int fd;
    if (!supervise_runs(program))
        return;
    const bool alive = supervise_read(program, &fd);
    supervise_take(program, alive, fd);
    if (supervise_runs(program) && program->of->on_room != NULL)
        program->of->on_room(program);
}

static void supervise_ready(struct source *source, uint32_t events)
{
    (void)events;
    supervise_hear(container_of(source, struct program, process.source));
}

/* Call this when the time for an answer is over. First reads the bytes that are in the pipe. These
 * bytes are not late, because the broker itself may have had no time to read them (after a suspend,
 * SIGSTOP, or a long turn of the loop). */
static void supervise_late(struct program *program)
{
    const struct paragraph_input *input = &program->process.input;
    const size_t before = input->length - input->taken;
    int fd;
    const bool alive = supervise_read(program, &fd),
               has_spoken = input->length - input->taken > before;
    if (alive && !has_spoken) {
        supervise_fail(program, program->state == PROGRAM_STARTING ? SUPERVISE_NO_GREETING
                                                                   : "it did not answer in time");
        return;
    }
    timer_set(&program->timer, monotonic_now() + program->within);
    supervise_take(program, alive, fd);
}

static void supervise_due(struct timer *timer)
{
    struct program *program = container_of(timer, struct program, timer);
    if (program->state == PROGRAM_BACKING_OFF)
        supervise_run_again(program);
    else
        supervise_late(program);
}

/* ---- functions for callers ---- */

void supervise_prepare(struct program *program, const struct program_description *of,
                       char *const argv[], struct identity_to_run_as as)
{
    *program = (struct program){.of = of,
                                .process = {.source.ready = supervise_ready, .in = -1, .out = -1},
                                .timer.due = supervise_due,
                                .input = -1,
                                .keep = -1};
    program->child = launcher_add(of->kind, argv, as);
}

bool supervise_start(struct program *program, int input, int keep)
{
    program->input = input;
    program->keep = keep;
    return supervise_run(program, false) && supervise_runs(program);
}

void supervise_finish(struct program *program)
{
    if (supervise_runs(program))
        supervise_go_to(program, PROGRAM_ENDING, INT64_MAX);
    else
        supervise_stop(program);
}

void supervise_stop(struct program *program)
{
    coprocess_kill(&program->process);
    supervise_go_to(program, PROGRAM_STOPPED, INT64_MAX);
}

bool supervise_hurry(struct program *program)
{
    if (program->state == PROGRAM_BACKING_OFF)
        supervise_run_again(program);
    return supervise_runs(program);
}

bool supervise_wait(struct program *program, int64_t until)
{
    const struct coprocess *process = &program->process;
    const int64_t left = until - monotonic_now();
    if (!supervise_runs(program) || left <= 0)
        return false;
    const bool both = process->in == process->out;
    struct pollfd ends[] = {{.fd = process->in,
                             .events =
                                 (short)(both && process->writing ? POLLIN | POLLOUT : POLLIN)},
                            {.fd = !both && process->writing ? process->out : -1,
                             .events = POLLOUT}};
    if (poll(ends, 2, poll_milliseconds(left)) > 0)
        supervise_hear(program);
    return true;
}
