#include "ls-rows.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "name.h"
#include "own-specs.h"
#include "read-journal.h"
#include "units.h"

static struct {
    const struct ls_filter *filter;
    struct ls_row *rows;
    size_t count;
} list;

/* ---- the user's own reservations, from files ---- */

static void read_comm(pid_t tid, char comm[static 64])
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, comm, 63);
    if (fd >= 0)
        close(fd);
    comm[length > 0 && comm[length - 1] == '\n' ? length - 1 : length > 0 ? length : 0] = '\0';
}

/* True if a pattern matches the name. A pattern that matches the name of a program also selects its
 * threads NAME+TID. */
static bool is_wanted(const char *name)
{
    char program[NAME_MAX + 1];
    const size_t length = reservation_name_of_program(name);
    snprintf(program, sizeof program, "%.*s", (int)length, name);
    char *const *pattern = list.filter->patterns;
    for (; *pattern != NULL; pattern++)
        if (fnmatch(*pattern, name, 0) == 0 || (length > 0 && fnmatch(*pattern, program, 0) == 0))
            return true;
    return list.filter->patterns[0] == NULL;
}

static struct ls_row *new_row(const char *user, const char *name)
{
    static size_t size;
    if (list.count == size) {
        size = size == 0 ? 256 : size * 2;
        list.rows = realloc(list.rows, size * sizeof *list.rows);
        if (list.rows == NULL)
            command_fail(EX_OSERR, "no memory");
    }
    struct ls_row *row = &list.rows[list.count++];
    *row = (struct ls_row){.user = strdup(user), .name = strdup(name), .left = -1};
    return row;
}

static void take_verdict(struct ls_row *row, json_t *verdict, bool is_current)
{
    row->verdict = verdict;
    row->state = state_of(verdict, is_current);
    if (row->state >= PENDING)
        read_comm((pid_t)ls_number(json_object_get(verdict, "thread"), "tid"), row->comm);
}

static int64_t now_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Returns the time until the lease ends, us; -1: there is no lease. A lease begins when the spec is
 * written or touched. */
static int64_t left_since(const struct ls_row *row, const struct stat *spec)
{
    const json_int_t expires = ls_number(json_object_get(row->verdict, "grant"), "expires");
    const int64_t written = (int64_t)spec->st_ctim.tv_sec * 1000000 + spec->st_ctim.tv_nsec / 1000;
    /* there is no lease, or the owner has put a wrong number into the verdict */
    if (expires <= 0 || expires > INT64_MAX / 2)
        return -1;
    const int64_t left = written + expires - now_of(CLOCK_REALTIME);
    return left < 0 ? 0 : left;
}

static void add_own(const char *user, const struct own_spec *spec)
{
    struct ls_row *row = new_row(user, spec->name);
    take_verdict(row, spec->verdict, spec->is_current);
    if (spec->file != NULL)
        row->left = left_since(row, spec->file);
}

/* Adds the rows of a user from the user's directory. False: errno says why. */
static bool read_user(int specs, const char *user)
{
    static const struct own_specs_listener listener = {is_wanted, add_own};
    return own_specs_read(specs, user, &listener);
}

/* ---- reservations of other users, from the broker's journal: root enters no user's directory
 * ---- */

static int64_t left_until(const json_t *lease)
{
    const int64_t left = json_integer_value(lease) / 1000 - now_of(CLOCK_BOOTTIME);
    return !json_is_integer(lease) ? -1 : left < 0 ? 0 : left;
}

static void add_booked(const char *user, const char *name, json_t *verdict)
{
    if (!is_wanted(name) || (list.filter->user != NULL && strcmp(user, list.filter->user) != 0))
        return;
    struct ls_row *row = new_row(user, name);
    take_verdict(row, verdict, true);
    row->left = left_until(json_object_get(verdict, "lease"));
}

static void is_gone(const char *user, const char *name)
{
    (void)user;
    (void)name;
}

static void read_journal(int root)
{
    static const struct journal_listener listener = {add_booked, is_gone};
    if (!journal_read(root, &listener))
        command_fail(EX_NOPERM, "%s/state/current does not belong to root, or cannot be read",
                     list.filter->spool);
}

/* Refuses a word that names no user, because an empty list would mean that there is such a user,
 * without reservations. */
static void check_user(void)
{
    uint64_t uid;
    if (list.count == 0 && getpwnam(list.filter->user) == NULL &&
        !parse_number(list.filter->user, UINT32_MAX - 1, &uid))
        command_fail(EX_NOUSER, "there is no user %s", command_typed(list.filter->user));
}

static bool is_own(const char *user)
{
    char uid[16];
    const struct passwd *account = getpwuid(geteuid());
    snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    return strcmp(user, uid) == 0 || (account != NULL && strcmp(user, account->pw_name) == 0);
}

/* Reads the reservations of other users, or ends the process with a message. The message does not
 * tell whether the user has a directory, because only root may know this. */
static void read_others(int specs)
{
    if (read_user(specs, list.filter->user))
        return;
    const bool is_others = errno == EACCES || errno == ENOENT;
    command_fail(is_others ? EX_NOPERM : EX_OSERR, "%s/specs/%s: %s", list.filter->spool,
                 command_typed(list.filter->user),
                 is_others ? "only root sees the reservations of another user" : strerror(errno));
}

struct ls_row *ls_rows_read(const struct ls_filter *filter, size_t *count)
{
    list.filter = filter;
    struct client client;
    const enum client_outcome opened = client_open(&client, list.filter->spool);
    if (opened != CLIENT_OK)
        command_fail(client_status_of_outcome(opened), "%s", client.why);
    if (list.filter->all && geteuid() != 0)
        command_fail(EX_NOPERM, "%s/specs: only root sees the reservations of all users",
                     list.filter->spool);
    if (list.filter->all || (list.filter->user != NULL && geteuid() == 0)) {
        read_journal(client.root);
        if (list.filter->user != NULL)
            check_user();
    } else if (list.filter->user != NULL && !is_own(list.filter->user)) {
        read_others(client.specs);
    } else {
        const enum client_outcome outcome = client_enter(&client, false);
        if (outcome == CLIENT_DENIED || outcome == CLIENT_ERROR)
            command_fail(outcome == CLIENT_DENIED ? EX_NOPERM : EX_OSERR, "%s", client.why);
        if (outcome == CLIENT_OK)
            read_user(client.specs, client.user);
    }
    client_close(&client);
    *count = list.count;
    return list.rows;
}
