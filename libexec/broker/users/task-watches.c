#include "task-watches.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <uthash.h>

#include "readers.h"
#include "reservation.h"
#include "supervise.h"
#include "units.h"

/* The most watches that a user may have. */
enum { WATCHES_MAX = 64 };

/* ENDING: rtf-tasks has not yet been told that the watch ends. ENDED: rtf-tasks has been told, but
 * has not yet answered the beginning of the watch. */
enum watch_state { WATCH_UNSENT, WATCH_SENT, WATCH_ENDING, WATCH_ENDED };

struct task_watch {
    uint64_t id;
    enum watch_state state;
    /* rtf-tasks was told to begin the watch, and has not yet reported all present threads */
    bool is_pending;
    struct user *user; /* NULL in ENDING and ENDED, because the user may not exist any more */
    uid_t uid;
    pid_t process;
    char *program, *group; /* as in struct watch_of */
    TAILQ_ENTRY(task_watch) of_list;
    UT_hash_handle hh; /* by id */
    char name[NAME_BYTES];
};

static struct {
    struct program program;
    struct task_watch *by_id;
    TAILQ_HEAD(, task_watch) list;
    uint64_t last_id;
    struct paragraph_output output;
} watches = {.list = TAILQ_HEAD_INITIALIZER(watches.list)};

static void watch_free(struct task_watch *watch)
{
    HASH_DEL(watches.by_id, watch);
    TAILQ_REMOVE(&watches.list, watch, of_list);
    free(watch->program);
    free(watch->group);
    free(watch);
}

/* ---- messages to rtf-tasks ---- */

static bool watch_send(const struct task_watch *watch)
{
    struct paragraph_output *output = &watches.output;
    output->length = 0;
    paragraph_add(output, "op", watch->state == WATCH_ENDING ? "end" : "watch");
    paragraph_add_number(output, "id", watch->id);
    if (watch->state == WATCH_UNSENT) {
        paragraph_add_number(output, "uid", watch->uid);
        if (watch->program != NULL)
            paragraph_add(output, "program", watch->program);
        else if (watch->group != NULL)
            paragraph_add(output, "cgroup", watch->group);
        else
            paragraph_add_number(output, "process", (uint64_t)watch->process);
    }
    paragraph_close(output);
    return coprocess_send_fds(&watches.program.process, output->data, output->length, NULL, 0);
}

static void watch_sent(struct task_watch *watch)
{
    if (watch->state == WATCH_UNSENT) {
        watch->state = WATCH_SENT;
        watch->is_pending = true;
    } else if (watch->is_pending)
        watch->state = WATCH_ENDED;
    else
        watch_free(watch);
}

/* True: the watch must not be sent now. Only one watch of each user begins at a time, because the
 * beginning of a watch costs rtf-tasks some ms. So a user who begins watches without end delays
 * other users little. */
static bool watch_has_to_wait(const struct task_watch *watch)
{
    const struct task_watch *other;
    if (watch->state == WATCH_UNSENT)
        TAILQ_FOREACH (other, &watches.list, of_list)
            if (other->is_pending && other->uid == watch->uid)
                return true;
    return watch->state == WATCH_SENT || watch->state == WATCH_ENDED;
}

/* Sends messages while the socket has room. The loop has the rest sent when the socket has room
 * again. */
static void watches_send(void)
{
    struct task_watch *watch, *next;
    bool full = false;
    if (!supervise_runs(&watches.program))
        return; /* watches_on_start sends all watches when the program runs again */
    for (watch = TAILQ_FIRST(&watches.list); watch != NULL && !full; watch = next) {
        next = TAILQ_NEXT(watch, of_list);
        if (watch_has_to_wait(watch))
            continue;
        full = !watch_send(watch);
        if (!full)
            watch_sent(watch);
    }
    coprocess_wait_for_room(&watches.program.process, full);
}

/* All watches are sent again, because a new process knows no watch. */
static void watches_on_start(struct program *program, bool again)
{
    struct task_watch *watch, *next;
    (void)program;
    (void)again;
    for (watch = TAILQ_FIRST(&watches.list); watch != NULL; watch = next) {
        next = TAILQ_NEXT(watch, of_list);
        watch->is_pending = false;
        if (watch->user == NULL)
            watch_free(watch);
        else
            watch->state = WATCH_UNSENT;
    }
    watches_send();
}

static void watches_on_room(struct program *program)
{
    if (program->process.writing)
        watches_send();
}

/* ---- messages of rtf-tasks ---- */

/* Notes that rtf-tasks has answered the beginning of a watch, if `event` says so. */
static void watch_answered(struct task_watch *watch, const char *event)
{
    if (!watch->is_pending || (strcmp(event, "listed") != 0 && strcmp(event, "ended") != 0 &&
                               strcmp(event, "refused") != 0))
        return;
    watch->is_pending = false;
    if (watch->state == WATCH_ENDED)
        watch_free(watch);
    watches_send();
}

static bool watches_on_message(struct program *program, const struct paragraph *said, int *fd)
{
    struct task_watch *watch;
    uint64_t id;
    (void)program;
    (void)fd;
    const char *event = paragraph_get(said, "event");
    if (event == NULL || paragraph_get_number(said, "id", UINT64_MAX, &id) != 1)
        return false;
    HASH_FIND(hh, watches.by_id, &id, sizeof id, watch);
    if (watch != NULL && watch->state == WATCH_SENT)
        reader_task(watch->user, watch->name, said);
    if (watch != NULL)
        watch_answered(watch, event);
    /* a message about an unknown watch is no fault: rtf-tasks may have sent it before it read that
     * the watch ends */
    return true;
}

/* ---- watches that readers ask for ---- */

static void watch_refuse(struct user *user, const char *name)
{
    const struct paragraph said = {
        .count = 2,
        .pair = {{"event", "refused"},
                 {"reason", "you have 64 program files already: a user may have no more"}}};
    reader_task(user, name, &said);
}

/* Returns a copy of the text; NULL if the text is NULL. */
static char *copy_of(const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);
    if (text != NULL && copy == NULL)
        abort();
    return copy;
}

void task_watch_begin(struct user *user, const char *name, const struct watch_of *of)
{
    const struct task_watch *other;
    int count = 0;
    task_watch_end(user, name);
    TAILQ_FOREACH (other, &watches.list, of_list)
        count += other->user == user;
    if (count >= WATCHES_MAX) {
        watch_refuse(user, name);
        return;
    }
    struct task_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        abort();
    *watch = (struct task_watch){.id = ++watches.last_id,
                                 .state = WATCH_UNSENT,
                                 .user = user,
                                 .uid = user->uid,
                                 .process = of->process,
                                 .program = copy_of(of->program),
                                 .group = copy_of(of->group)};
    memcpy(watch->name, name, strlen(name) + 1);
    HASH_ADD(hh, watches.by_id, id, sizeof watch->id, watch);
    TAILQ_INSERT_TAIL(&watches.list, watch, of_list);
    watches_send();
}

void task_watch_end(struct user *user, const char *name)
{
    struct task_watch *watch, *next;
    for (watch = TAILQ_FIRST(&watches.list); watch != NULL; watch = next) {
        next = TAILQ_NEXT(watch, of_list);
        if (watch->user != user || (name != NULL && strcmp(watch->name, name) != 0))
            continue;
        if (watch->state == WATCH_UNSENT) {
            watch_free(watch);
            continue;
        }
        watch->state = WATCH_ENDING;
        watch->user = NULL;
    }
    watches_send();
}

/* ---- the program ---- */

static const struct program_description watches_are = {
    .name = "rtf-tasks",
    .meanwhile = "until then program files miss new threads",
    .kind = CHILD_TASKS,
    .talk = COPROCESS_SOCKET,
    SUPERVISE_EACH_SECOND,
    .on_start = watches_on_start,
    .on_message = watches_on_message,
    .on_room = watches_on_room,
};

void task_watches_prepare(char *path, struct identity_to_run_as as)
{
    char uid[NUMBER_TEXT], gid[NUMBER_TEXT]; /* the launcher copies these texts */
    char *const argv[] = {path, format_number(as.uid, uid), format_number(as.gid, gid), NULL};
    supervise_prepare(&watches.program, &watches_are, argv, (struct identity_to_run_as){0, 0});
}

bool task_watches_start(void)
{
    return supervise_start(&watches.program, -1, -1);
}
