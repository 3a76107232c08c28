#include "trace-chosen.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "name.h"
#include "own-specs.h"
#include "read-journal.h"
#include "thread.h"

/* One chosen reservation. chosen_read collects these in a list, and makes the two arrays of struct
 * chosen from the list. */
struct found {
    struct traced thread;
    struct trace_label label;
};

static struct {
    const struct chosen_wish *wish;
    struct found *list;
    size_t count, size;
} choice;

/* True if the reservation is wanted. A pattern that matches the name of a program also selects its
 * threads NAME+TID. */
static bool is_wanted(const char *user, const char *name)
{
    char program[RESERVATION_NAME_BYTES];
    const struct chosen_wish *wish = choice.wish;
    if (wish->user != NULL && strcmp(wish->user, user) != 0)
        return false;
    snprintf(program, sizeof program, "%.*s", (int)reservation_name_of_program(name), name);
    for (char *const *pattern = wish->patterns; *pattern != NULL; pattern++)
        if (fnmatch(*pattern, name, 0) == 0 ||
            (program[0] != '\0' && fnmatch(*pattern, program, 0) == 0))
            return true;
    return wish->patterns[0] == NULL;
}

static char *copy(const char *text)
{
    char *copied = strdup(text);
    if (copied == NULL)
        command_fail(EX_OSERR, "no memory");
    return copied;
}

static char *read_comm(pid_t tid)
{
    char path[48], comm[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, comm, sizeof comm - 1);
    if (fd >= 0)
        close(fd);
    comm[length > 0 && comm[length - 1] == '\n' ? length - 1 : length > 0 ? length : 0] = '\0';
    return copy(comm);
}

/* Returns a time of the grant, ns. 0: the grant does not state it. */
static int64_t time_of(const json_t *grant, const char *key)
{
    const json_int_t time = json_integer_value(json_object_get(grant, key));
    return time > 0 && time < INT64_MAX / 1000 ? time * 1000 : 0;
}

static bool is_real_time(const json_t *grant)
{
    enum policy policy;
    const char *name = client_string(grant, "policy");
    return name != NULL && policy_from_name(name, &policy) && policy_is_real_time(policy);
}

static void add(const char *user, const char *name, const json_t *grant, pid_t tid)
{
    struct identity identity;
    if (!thread_identify(tid, &identity))
        return; /* the thread has ended, and the broker does not know yet */
    if (choice.count == choice.size) {
        choice.size = choice.size == 0 ? 64 : 2 * choice.size;
        choice.list = reallocarray(choice.list, choice.size, sizeof *choice.list);
        if (choice.list == NULL)
            command_fail(EX_OSERR, "no memory");
    }
    const int64_t accepted = time_of(grant, "accepted_runtime");
    choice.list[choice.count++] =
        (struct found){.thread = {.tid = tid,
                                  .runtime = accepted != 0 ? accepted : time_of(grant, "runtime"),
                                  .period = time_of(grant, "period"),
                                  .deadline = time_of(grant, "deadline"),
                                  .real_time = is_real_time(grant)},
                       .label = {.user = copy(user),
                                 .name = copy(name),
                                 .comm = read_comm(tid),
                                 .process = identity.process}};
}

static void take(const char *user, const char *name, json_t *verdict)
{
    const json_t *thread = json_object_get(verdict, "thread");
    const json_int_t tid = json_integer_value(json_object_get(thread, "tid"));
    if (tid > 0 && is_wanted(user, name))
        add(user, name, json_object_get(verdict, "grant"), (pid_t)tid);
    json_decref(verdict);
}

static void is_gone(const char *user, const char *name)
{
    (void)user;
    (void)name;
}

static int compare(const void *one, const void *two)
{
    const struct found *a = one, *b = two;
    return (a->thread.tid > b->thread.tid) - (a->thread.tid < b->thread.tid);
}

static void make_arrays(struct chosen *chosen)
{
    if (choice.count > 0)
        qsort(choice.list, choice.count, sizeof *choice.list, compare);
    *chosen = (struct chosen){.count = choice.count,
                              .threads = calloc(choice.count + 1, sizeof *chosen->threads),
                              .labels = calloc(choice.count + 1, sizeof *chosen->labels)};
    if (chosen->threads == NULL || chosen->labels == NULL)
        command_fail(EX_OSERR, "no memory");
    for (size_t i = 0; i < choice.count; i++) {
        chosen->threads[i] = choice.list[i].thread;
        chosen->labels[i] = choice.list[i].label;
    }
}

bool chosen_read(int root, const struct chosen_wish *wish, struct chosen *chosen)
{
    static const struct journal_listener listener = {take, is_gone};
    choice.wish = wish;
    if (!journal_read(root, &listener))
        return false;
    make_arrays(chosen);
    return true;
}

static bool any_name(const char *name)
{
    (void)name;
    return true;
}

static void take_own(const char *user, const struct own_spec *spec)
{
    if (spec->verdict != NULL)
        take(user, spec->name, spec->verdict);
}

void chosen_read_own(const struct client *client, const struct chosen_wish *wish,
                     struct chosen *chosen)
{
    static const struct own_specs_listener listener = {any_name, take_own};
    choice.wish = wish;
    (void)own_specs_read(client->specs, client->user, &listener);
    make_arrays(chosen);
}

int64_t chosen_cpu_time(pid_t tid)
{
    char path[48], text[80];
    unsigned long long ran;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return sscanf(text, "%llu", &ran) == 1 ? (int64_t)ran : -1;
}
