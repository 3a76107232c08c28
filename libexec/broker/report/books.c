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
#include "drift.h"
#include "enforcing.h"
#include "ledger.h"
#include "names.h"
#include "plugin-lines.h"
#include "rest.h"
#include "directories.h"
#include "spool.h"
#include "units.h"
#include "wishes.h"

static const char name[] = "books.json";

/* All that is charged to the sums of the rules, by sum. */
static json_t *charges;

static void add_charges(const struct charge *charge)
{
    for (int i = 0; i < charge->count; i++) {
        const char *subject = acl_subject(charge->parts[i].counter);
        json_int_t before = json_integer_value(json_object_get(charges, subject));
        json_object_set_new(charges, subject, json_integer(before + (json_int_t)charge->parts[i].amount));
    }
}

static json_t *grant_as_json(uint64_t task, const struct grant *grant)
{
    char cpus[CPU_LIST_TEXT];
    const struct attributes *plan = &grant->plan;
    add_charges(&grant->charge);
    return json_pack("{s:I, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "task", (json_int_t)task, "plugin", plugin_line(grant->plugin)->name,
                     "policy", policy_name(plan->policy), "cpus", format_cpus(&plan->cpus, cpus), "priority", plan->priority, "runtime",
                     (json_int_t)plan->runtime, "period", (json_int_t)plan->period, "deadline", (json_int_t)plan->deadline, "weight",
                     (json_int_t)ledger_weight(grant), "rate", (json_int_t)ledger_rate(grant), "domain", plugin_line(grant->plugin)->domains,
                     "untested", grant->spec.ignore_admission);
}

/* Something is about to change. */
static bool is_quiet(const struct user *user)
{
    return user->adopted && !user->gone && user->scanned && user->scan == NULL;
}

static bool is_busy(const struct wish *wish)
{
    return wish->request != NULL || wish->line != NULL || wish->sighting != NULL || wish->asked || wish->coming || wish->recovery != NULL || wish->ending || !is_quiet(wish->user);
}

static json_t *users_as_json(void)
{
    json_t *users = json_object();
    for (const struct user *user = users_first(); user != NULL; user = user->hh.next)
        json_object_set_new(users, user->name, json_boolean(is_quiet(user)));
    return users;
}

/* As the kernel shows it in this moment. */
static const char *enforcement_of(const struct attachment *attachment)
{
    static const char *const words[] = {[NOT_ENFORCED] = "none", [IN_FORCE] = "in force", [SUSPENDED] = "suspended"};
    struct attributes now;
    return words[!attachment->guarded || !thread_attributes(attachment->tid, &now) ? NOT_ENFORCED : attachment_enforcement(attachment, &now)];
}

static json_t *wish_as_json(const struct wish *wish)
{
    const struct attachment *attachment = wish->attachment;
    json_t *entry = json_pack("{s:s, s:s, s:I, s:I, s:b}", "user", wish->user->name, "name", wish->name, "uid", (json_int_t)wish->user->uid, "task",
                              (json_int_t)wish->task, "busy", is_busy(wish));
    json_object_set_new(entry, "grant", wish->grant == NULL ? json_null() : grant_as_json(wish->task, wish->grant));
    json_object_set_new(entry, "thread", attachment == NULL ? json_null() :
                        json_pack("{s:i, s:I, s:b, s:s}", "tid", (int)attachment->tid, "started_by", (json_int_t)attachment->started_by, "pending", attachment->pending,
                                  "enforcement", enforcement_of(attachment)));
    if (wish->request != NULL) {
        add_charges(&wish->request->hold);
        if (wish->request->partial != NULL)
            add_charges(&wish->request->partial->charge);
    }
    return entry;
}

static json_t *rests;

static void add_rest(uint64_t task, const struct grant *grant)
{
    json_array_append_new(rests, grant_as_json(task, grant));
}

static json_t *promised;

static void add_sum(int plugin, int cpu, uint64_t sum)
{
    json_array_append_new(promised, json_pack("{s:s?, s:i, s:I}", "plugin", plugin < 0 ? NULL : plugin_line(plugin)->name, "cpu", cpu, "sum", (json_int_t)sum));
}

static json_t *used;

static void add_used(const char *subject, uint64_t amount)
{
    json_object_set_new(used, subject, json_integer((json_int_t)amount));
}

static json_t *lines_as_json(void)
{
    static const char *const partitions[] = {[PARTITION_GLOBAL] = "global", [PARTITION_UNTHROTTLED] = "unthrottled", [PARTITION_CPUSET] = "cpuset"};
    char cpus[CPU_LIST_TEXT];
    json_t *lines = json_array();
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        json_array_append_new(lines, json_pack("{s:s, s:s, s:b, s:s?, s:i, s:i, s:I, s:b}", "name", line->name, "cpus", format_cpus(&line->cpus, cpus),
                                               "deadline", line->deadline, "partition", line->deadline ? partitions[line->partition] : NULL, "lowest", line->lowest,
                                               "highest", line->highest, "threshold", (json_int_t)line->threshold, "promises", line->promises));
    }
    return lines;
}

/* What malloc has given out, for tests: the pages that it keeps, or has not given back, say little of what is lost. */
static json_int_t bytes_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (json_int_t)info.uordblks + (json_int_t)info.hblkhd;
}

static json_t *everything(void)
{
    const json_int_t memory = bytes_in_use(); /* without what follows */
    json_t *wishes = json_array();
    charges = json_object();
    rests = json_array();
    promised = json_array();
    used = json_object();
    for (const struct wish *wish = wish_first(); wish != NULL; wish = wish->hh_task.next)
        json_array_append_new(wishes, wish_as_json(wish));
    rest_each(add_rest);
    ledger_each(add_sum);
    acl_each(rules, add_used);
    return json_pack("{s:I, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "memory", memory, "quiet", users_as_json(), "limit", max_wishes, "accounts", (int)accounts_known(), "plugins", lines_as_json(), "wishes", wishes, "rests", rests, "promised", promised, "charges", charges,
                     "used", used);
}

static int write_some(const char *bytes, size_t length, void *file)
{
    return fwrite(bytes, 1, length, file) == length ? 0 : -1;
}

/* Whole under its name from the first moment on, for the tests; over one that is there still, in place. */
static bool give_name(int fd)
{
    char nameless[NUMBER_TEXT + sizeof "/proc/self/fd/"];
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, nameless, spool.state, name, AT_SYMLINK_FOLLOW) == 0;
}

static int open_books(bool *is_nameless)
{
    int fd = faccessat(spool.state, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -1 : openat(spool.state, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    *is_nameless = fd >= 0;
    return fd >= 0 ? fd : openat(spool.state, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
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
    bool good = json_dump_callback(books, write_some, file, JSON_COMPACT) == 0 && fflush(file) == 0 && (!is_nameless || give_name(fd));
    json_decref(books);
    return fclose(file) == 0 && good;
}
