#include "traces.h"

#include <string.h>
#include <sysexits.h>

#include "supervise.h"
#include "tracing.h"

enum { TRACES_MAX = 8 }; /* the most traces that rtf-watch serves */

struct trace {
    uint64_t id; /* 0: there is no trace */
    uid_t uid;
};

static struct {
    struct program program;
    int root; /* the root directory of tracefs; -1: there is no tracefs */
    struct trace of[TRACES_MAX];
    uint64_t last_id;
    struct paragraph_output output;
} traces = {.root = -1};

static struct trace *traces_find(uint64_t id)
{
    for (struct trace *trace = traces.of; trace < traces.of + TRACES_MAX; trace++)
        if (trace->id == id)
            return trace;
    return NULL;
}

static bool traces_none(void)
{
    for (const struct trace *trace = traces.of; trace < traces.of + TRACES_MAX; trace++)
        if (trace->id != 0)
            return false;
    return true;
}

/* ---- rtf-watch ---- */

static bool traces_on_message(struct program *program, const struct paragraph *said, int *fd)
{
    const char *event = paragraph_get(said, "event");
    uint64_t id;
    (void)fd;
    if (event == NULL || strcmp(event, "done") != 0 ||
        paragraph_get_number(said, "id", UINT64_MAX, &id) != 1 || id == 0)
        return false;
    struct trace *trace = traces_find(id);
    if (trace != NULL)
        trace->id = 0;
    if (traces_none())
        supervise_stop(program);
    return true;
}

/* The users' processes notice the end of rtf-watch themselves. The broker starts rtf-watch again
 * for the next trace. */
static void traces_on_gone(struct program *program, const char *why)
{
    (void)why;
    memset(traces.of, 0, sizeof traces.of);
    supervise_stop(program);
}

static const struct program_description traces_are = {
    .name = "rtf-watch",
    .meanwhile = "traces of users have ended",
    .kind = CHILD_WATCH,
    .talk = COPROCESS_SOCKET,
    SUPERVISE_EACH_SECOND,
    .on_message = traces_on_message,
    .on_gone = traces_on_gone,
};

void traces_prepare(char *path)
{
    char *const argv[] = {path, NULL};
    traces.root = tracing_open();
    supervise_prepare(&traces.program, &traces_are, argv, (struct identity_to_run_as){0, 0});
}

static bool traces_send(const int *fds, int count)
{
    const bool sent = coprocess_send_fds(&traces.program.process, traces.output.data,
                                         traces.output.length, fds, count);
    paragraph_drop(&traces.output, traces.output.length);
    return sent;
}

/* ---- traces ---- */

const char *traces_refuse(uid_t uid, int *status)
{
    *status = EX_UNAVAILABLE;
    if (traces.root < 0)
        return "the kernel has no tracefs, or the broker has no right to mount it";
    *status = EX_TEMPFAIL;
    for (const struct trace *trace = traces.of; trace < traces.of + TRACES_MAX; trace++)
        if (trace->id != 0 && trace->uid == uid)
            return "you have a trace already: end this trace first";
    return traces_find(0) == NULL ? "8 users have traces already: try again when a trace has ended"
                                  : NULL;
}

bool traces_begin(uid_t uid, const char *threads, int socket, bool causes)
{
    struct trace *trace = traces_find(0);
    if (!supervise_runs(&traces.program) && !supervise_start(&traces.program, -1, traces.root))
        return false;
    paragraph_add(&traces.output, "op", "begin");
    paragraph_add_number(&traces.output, "id", traces.last_id + 1);
    paragraph_add_number(&traces.output, "uid", uid);
    paragraph_add(&traces.output, "threads", threads);
    paragraph_add_number(&traces.output, "causes", causes);
    paragraph_close(&traces.output);
    if (trace == NULL || !traces_send(&socket, 1))
        return false;
    *trace = (struct trace){.id = ++traces.last_id, .uid = uid};
    return true;
}

void traces_leave(pid_t tid)
{
    if (!supervise_runs(&traces.program))
        return;
    paragraph_add(&traces.output, "op", "gone");
    paragraph_add_number(&traces.output, "tid", (uint64_t)tid);
    paragraph_close(&traces.output);
    /* if the socket is full, rtf-watch finds out itself whether the thread still exists */
    (void)traces_send(NULL, 0);
}
