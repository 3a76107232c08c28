#include "books.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl.h"
#include "attachments.h"
#include "background.h"
#include "drift.h"
#include "ledger.h"
#include "names.h"
#include "plugin-lines.h"
#include "resource-cpu.h"
#include "debts.h"
#include "directories.h"
#include "spool.h"
#include "units.h"
#include "request.h"
#include "reservations.h"

static const char name[] = "books.json";

/* Sums that are filled while books.json is written. */
static struct {
    json_t *charges; /* the amounts that are charged to each sum of the rules */
    json_t *debts, *promised, *used;
} sums;

static void add_charges(const struct charge *charge)
{
    for (int i = 0; i < charge->count; i++) {
        const char *subject = acl_subject(charge->parts[i].counter);
        json_int_t before = json_integer_value(json_object_get(sums.charges, subject));
        json_object_set_new(sums.charges, subject,
                            json_integer(before + (json_int_t)charge->parts[i].amount));
    }
}

static json_t *claims_as_json(const struct grant *grant)
{
    json_t *claims = json_object();
    for (const struct holding *holding = grant->holdings; holding != NULL;
         holding = holding->next) {
        add_charges(&holding->charge);
        json_object_set_new(claims, plugin_line(holding->plugin)->name,
                            json_integer(
                                (json_int_t)plugin_weight(holding->plugin, &holding->claim)));
    }
    return claims;
}

static json_t *background_as_json(const struct grant *grant)
{
    json_t *list = json_array();
    for (int plugin = grant_background(grant); plugin != NO_PLUGIN;
         plugin = grant_background_after(grant, plugin))
        json_array_append_new(list, json_string(plugin_line(plugin)->name));
    return list;
}

static json_t *grant_as_json(uint64_t task, const struct grant *grant)
{
    json_t *object = grant->plugin == NO_PLUGIN ? json_pack("{s:n}", "plugin") : cpu_book(grant);
    json_object_set_new(object, "task", json_integer((json_int_t)task));
    add_charges(&grant->charge);
    json_object_set_new(object, "claims", claims_as_json(grant));
    json_object_set_new(object, "background", background_as_json(grant));
    return object;
}

/* False: reservations of the user are about to change, so the books may differ from the user's
 * files. */
static bool books_is_quiet(const struct user *user)
{
    return user->state == DIRECTORY_ADOPTED && user->scanned && user->scan == NULL;
}

static bool is_busy(const struct reservation *reservation)
{
    return reservation->request != NULL || reservation->queue != NULL ||
           reservation->snapshot != NULL || reservation->expected != EXPECT_NOTHING ||
           reservation->recovery != NULL || reservation->state == RESERVATION_ENDING ||
           !books_is_quiet(reservation->user);
}

static json_t *users_as_json(void)
{
    json_t *users = json_object();
    for (const struct user *user = users_first(); user != NULL; user = user->hh.next)
        json_object_set_new(users, user->name, json_boolean(books_is_quiet(user)));
    return users;
}

static json_t *uids_as_json(void)
{
    json_t *uids = json_object();
    for (const struct user *user = users_first(); user != NULL; user = user->hh.next)
        json_object_set_new(uids, user->name, json_integer((json_int_t)user->uid));
    return uids;
}

/* Returns how the runtime of the thread is enforced, by the attributes that the kernel shows
 * now. */
static const char *enforcement_of(const struct attachment *attachment)
{
    static const char *const words[] = {
        [NOT_ENFORCED] = "none", [IN_FORCE] = "in force", [SUSPENDED] = "suspended"};
    struct attributes now;
    return words[!attachment->guarded || !thread_attributes(attachment->tid, &now)
                     ? NOT_ENFORCED
                     : attachment_enforcement(attachment, &now)];
}

/* The amounts of other resources that the ledger holds for a request under way. */
static json_t *held_as_json(const struct request *request)
{
    json_t *held = json_object();
    for (const struct holding *holding = request->inquiry.holdings; holding != NULL;
         holding = holding->next) {
        add_charges(&holding->charge);
        json_object_set_new(held, plugin_line(holding->plugin)->name,
                            json_integer((json_int_t)holding->ahead));
    }
    return held;
}

static json_t *reservation_as_json(const struct reservation *reservation)
{
    const struct attachment *attachment = reservation->attachment;
    json_t *entry = json_pack("{s:s, s:s, s:I, s:I, s:b}", "user", reservation->user->name, "name",
                              reservation->name, "uid", (json_int_t)reservation->user->uid, "task",
                              (json_int_t)reservation->task, "busy", is_busy(reservation));
    json_object_set_new(entry, "grant",
                        reservation->grant == NULL
                            ? json_null()
                            : grant_as_json(reservation->task, reservation->grant));
    json_object_set_new(entry, "thread",
                        attachment == NULL
                            ? json_null()
                            : json_pack("{s:i, s:I, s:b, s:s}", "tid", (int)attachment->tid,
                                        "started_by", (json_int_t)attachment->started_by, "pending",
                                        attachment_is_pending(attachment), "enforcement",
                                        enforcement_of(attachment)));
    if (reservation->request != NULL) {
        add_charges(&reservation->request->inquiry.hold);
        json_object_set_new(entry, "held", held_as_json(reservation->request));
        if (reservation->request->inquiry.partial != NULL)
            add_charges(&reservation->request->inquiry.partial->charge);
    }
    return entry;
}

static void add_debt(uint64_t task, const struct grant *grant)
{
    json_array_append_new(sums.debts, grant_as_json(task, grant));
}

static void add_sum(const struct pool *pool)
{
    json_array_append_new(sums.promised,
                          json_pack("{s:s?, s:i, s:I}", "plugin",
                                    pool->plugin < 0 ? NULL : plugin_line(pool->plugin)->name,
                                    "cpu", pool->cpu, "sum", (json_int_t)*pool->used));
}

static void add_used(const char *subject, uint64_t amount)
{
    json_object_set_new(sums.used, subject, json_integer((json_int_t)amount));
}

static json_t *lines_as_json(void)
{
    static const char *const partitions[] = {[PARTITION_GLOBAL] = "global",
                                             [PARTITION_UNTHROTTLED] = "unthrottled",
                                             [PARTITION_CPUSET] = "cpuset"};
    char cpus[CPU_LIST_TEXT];
    json_t *lines = json_array();
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        json_array_append_new(
            lines,
            json_pack("{s:s, s:s, s:I, s:s, s:b, s:s?, s:i, s:i, s:I, s:b, s:i}", "name",
                      line->name, "resource", resource_name(line->resource), "capacity",
                      (json_int_t)line->capacity, "cpus", format_cpus(&line->cpus, cpus),
                      "deadline", line->deadline, "partition",
                      line->deadline ? partitions[line->partition] : NULL, "lowest", line->lowest,
                      "highest", line->highest, "threshold", (json_int_t)line->threshold,
                      "promises", line->promises, "background", (int)ledger_background(i)));
    }
    return lines;
}

/* Returns the number of bytes that malloc has given out. Tests find memory leaks by this number,
 * because the number of the process's pages hides small leaks. */
static json_int_t bytes_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (json_int_t)info.uordblks + (json_int_t)info.hblkhd;
}

static json_t *everything(void)
{
    const json_int_t memory = bytes_in_use(); /* measured before the objects below take memory */
    json_t *reservations = json_array();
    sums.charges = json_object();
    sums.debts = json_array();
    sums.promised = json_array();
    sums.used = json_object();
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        json_array_append_new(reservations, reservation_as_json(reservation));
    debt_each(add_debt);
    ledger_each(add_sum);
    acl_each(rules, add_used);
    return json_pack("{s:I, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "memory", memory,
                     "quiet", users_as_json(), "uids", uids_as_json(), "limit", max_specs,
                     "accounts", (int)accounts_known(), "plugins", lines_as_json(), "reservations",
                     reservations, "debts", sums.debts, "promised", sums.promised, "charges",
                     sums.charges, "used", sums.used);
}

static int write_some(const char *bytes, size_t length, void *file)
{
    return fwrite(bytes, 1, length, file) == length ? 0 : -1;
}

/* Gives the file its name when its content is complete, so that tests never read a part of it. If a
 * file with this name exists, open_books overwrites that file instead. */
static bool give_name(int fd)
{
    char nameless[NUMBER_TEXT + sizeof "/proc/self/fd/"];
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, nameless, spool.state, name, AT_SYMLINK_FOLLOW) == 0;
}

static int open_books(bool *is_nameless)
{
    int fd = faccessat(spool.state, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
                 ? -1
                 : openat(spool.state, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    *is_nameless = fd >= 0;
    return fd >= 0 ? fd
                   : openat(spool.state, name,
                            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool books_write(void)
{
    bool is_nameless;
    int fd = open_books(&is_nameless);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    json_t *books = everything();
    bool good = json_dump_callback(books, write_some, file, JSON_COMPACT) == 0 &&
                fflush(file) == 0 && (!is_nameless || give_name(fd));
    json_decref(books);
    return fclose(file) == 0 && good;
}
