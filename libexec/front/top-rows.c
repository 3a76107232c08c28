#include "top-rows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "name.h"
#include "read-journal.h"
#include "units.h"

enum { EVENTS_BYTES = 1 << 16 };
static const uint64_t one_cpu = UINT64_C(1000000000), second = UINT64_C(1000000000);
static const uint32_t directory_events = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                                         IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF |
                                         IN_ONLYDIR;

static struct member *members;
static struct row *news;
static struct row **list;
static size_t row_count, list_size;
static int events = -1, root = -1, specs = -1, spool_watch = -1;
static bool everybody;

/* ---- files ---- */

static json_t *read_verdict(int directory, const char *name)
{
    char file[CLIENT_NAME_MAX + sizeof ".verdict"];
    snprintf(file, sizeof file, "%s.verdict", name);
    return client_read_object(directory, file);
}

static bool has_spec(const struct row *row, struct stat *spec)
{
    char file[CLIENT_NAME_MAX + sizeof ".json"];
    snprintf(file, sizeof file, "%s.json", row->name);
    return fstatat(row->owner->directory, file, spec, AT_SYMLINK_NOFOLLOW) == 0;
}

static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value < 0 ? 0 : (uint64_t)value;
}

/* ---- threads ---- */

static void forget_thread(struct row *row)
{
    if (row->schedstat >= 0)
        close(row->schedstat);
    row->schedstat = -1;
    row->looked = 0;
    row->uses = row->waits = 0;
    row->command[0] = '\0';
}

static void read_command(struct row *row)
{
    char path[40], name[WORD_BYTES];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)row->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    if (length > 0 && name[length - 1] == '\n')
        length--;
    name[length < 0 ? 0 : length] = '\0';
    (void)client_printable(name, row->command, sizeof row->command);
}

/* The file schedstat stays open: without open(2) a read takes a third of the time, and the read
 * fails if another thread gets the same id. */
static void open_thread(struct row *row, pid_t tid)
{
    char path[40];
    if (row->tid == tid && row->schedstat >= 0)
        return;
    forget_thread(row);
    row->tid = tid;
    if (tid == 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    row->schedstat = open(path, O_RDONLY | O_CLOEXEC);
    read_command(row);
}

static bool exceeds(const struct row *row, uint64_t ran, uint64_t elapsed)
{
    /* An excess of up to two runtimes does not count: a thread may get its runtime at the end of
     * one period and at the beginning of the next. */
    return row->share > 0 && row->grant.runtime > 0 && !row->is_held &&
           ran > elapsed / 1000 * row->share / (one_cpu / 1000) + 2000 * row->grant.runtime;
}

static void look_at_thread(struct row *row, int64_t now)
{
    char text[80];
    unsigned long long ran, waited;
    if (row->state >= ATTACHED)
        row->state = has_drifted(&row->grant, row->tid) ? DRIFTED : ATTACHED;
    ssize_t length = row->schedstat < 0 ? -1 : pread(row->schedstat, text, sizeof text - 1, 0);
    if (length <= 0) {
        row->uses = row->waits = 0;
        return;
    }
    text[length] = '\0';
    if (sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return;
    if (row->looked != 0 && now > row->looked && ran >= row->ran && waited >= row->waited) {
        const uint64_t elapsed = (uint64_t)(now - row->looked);
        row->uses = (ran - row->ran) * 1000 / (elapsed / 1000000 + 1) * (second / 1000000 / 1000);
        row->waits =
            (waited - row->waited) * 1000 / (elapsed / 1000000 + 1) * (second / 1000000 / 1000);
        row->over += exceeds(row, ran - row->ran, elapsed);
    }
    row->ran = ran;
    row->waited = waited;
    row->looked = now;
}

uint64_t row_ratio(const struct row *row)
{
    const uint64_t ratio = row->share == 0 ? 0 : row->uses * 1000 / row->share;
    return row->is_held && ratio > ROW_ALL ? ROW_ALL : ratio;
}

/* ---- plugins ---- */

static char (*holding)[WORD_BYTES];
static size_t holding_count;

static bool holds(const char *plugin)
{
    for (size_t i = 0; i < holding_count; i++)
        if (strcmp(holding[i], plugin) == 0)
            return true;
    return false;
}

/* A name that is longer than WORD_BYTES is cut here and in each row, so that the two names still
 * match. */
void rows_take_plugins(const json_t *plugins)
{
    size_t i;
    const json_t *plugin;
    holding_count = 0;
    free(holding);
    holding = calloc(json_array_size(plugins) + 1, sizeof *holding);
    if (holding == NULL)
        abort();
    json_array_foreach(plugins, i, plugin)
    {
        const char *enforce = client_string(plugin, "enforce"),
                   *name = client_string(plugin, "name");
        if (enforce != NULL && name != NULL && strcmp(enforce, "runtime") == 0)
            (void)client_printable(name, holding[holding_count++], WORD_BYTES);
    }
    for (struct member *member = members; member != NULL; member = member->hh.next)
        for (struct row *row = member->rows; row != NULL; row = row->hh.next)
            row->is_held = row->grant.has_runtime && holds(row->plugin);
}

/* ---- rows ---- */

static void is_news(struct row *row)
{
    if (row->is_news)
        return;
    row->is_news = true;
    row->next_news = news;
    news = row;
}

static struct row *row_of(struct member *member, const char *name)
{
    struct row *row;
    HASH_FIND_STR(member->rows, name, row);
    if (row != NULL)
        return row;
    row = calloc(1, sizeof *row);
    if (row == NULL)
        abort();
    snprintf(row->name, sizeof row->name, "%s", name);
    row->owner = member;
    row->schedstat = -1;
    HASH_ADD_STR(member->rows, name, row);
    row_count++;
    return row;
}

static void free_row(struct row *row)
{
    forget_thread(row);
    row_count--;
    free(row);
}

static void remove_row(struct row *row)
{
    HASH_DEL(row->owner->rows, row);
    free_row(row);
}

static void take_verdict(struct row *row, const json_t *verdict, bool is_current)
{
    const json_t *grant = json_object_get(verdict, "grant"),
                 *thread = json_object_get(verdict, "thread");
    const char *plugin = client_string(grant, "plugin");
    row->state = state_of(verdict, is_current);
    row->grant = grant_shown(grant);
    (void)client_printable(plugin == NULL ? "" : plugin, row->plugin, sizeof row->plugin);
    row->is_held = row->grant.has_runtime && holds(row->plugin);
    row->share = number(grant, "utilization");
    const uint64_t tid = number(thread, "tid");
    open_thread(row, tid > INT32_MAX ? 0 : (pid_t)tid);
}

/* ---- the threads of a program: rows NAME+TID, which have no files ---- */

static bool is_of_program(const struct row *row, const char *program)
{
    const size_t length = reservation_name_of_program(row->name);
    return length > 0 && strlen(program) == length && strncmp(row->name, program, length) == 0;
}

static bool is_among(const struct row *row, const json_t *threads)
{
    const json_t *thread;
    size_t i;
    json_array_foreach((json_t *)threads, i,
                       thread) if (number(thread, "tid") ==
                                   (uint64_t)strtoul(strchr(row->name, '+') + 1, NULL,
                                                     10)) return true;
    return false;
}

static void take_threads(struct member *member, const char *program, const json_t *threads,
                         bool is_current)
{
    char name[RESERVATION_NAME_BYTES];
    const json_t *thread;
    struct row *row, *next;
    size_t i;
    HASH_ITER (hh, member->rows, row, next)
        if (is_of_program(row, program) && !is_among(row, threads))
            remove_row(row);
    json_array_foreach((json_t *)threads, i, thread)
    {
        snprintf(name, sizeof name, "%.64s+%d", program, (int)number(thread, "tid"));
        take_verdict(row_of(member, name), thread, is_current);
    }
}

static void read_row(struct row *row)
{
    struct stat spec;
    json_t *verdict = read_verdict(row->owner->directory, row->name);
    const bool has = has_spec(row, &spec), is_current = !has || verdict_is_current(verdict, &spec);
    take_threads(row->owner, row->name, json_object_get(verdict, "threads"), is_current);
    if (has || verdict != NULL)
        take_verdict(row, verdict, is_current);
    else
        remove_row(row);
    json_decref(verdict);
}

static void read_news(void)
{
    while (news != NULL) {
        struct row *row = news;
        news = row->next_news;
        row->is_news = false;
        read_row(row);
    }
}

/* Notes that the row of NAME.json or NAME.verdict must be read again. */
static void take_name(struct member *member, const char *file)
{
    char name[CLIENT_NAME_MAX + 1];
    const char *suffix = strrchr(file, '.');
    if (suffix == NULL || (strcmp(suffix, ".json") != 0 && strcmp(suffix, ".verdict") != 0) ||
        suffix - file > CLIENT_NAME_MAX)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(suffix - file), file);
    if (client_name_ok(name))
        is_news(row_of(member, name));
}

static void scan_member(struct member *member)
{
    int copy = openat(member->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    member->scan = false;
    for (struct row *row = member->rows; row != NULL; row = row->hh.next)
        if (reservation_name_of_program(row->name) == 0)
            is_news(row);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        take_name(member, entry->d_name);
    if (entries != NULL)
        closedir(entries);
}

/* ---- from the broker's journal: root enters no user's directory ---- */

static struct member *member_named(const char *name)
{
    for (struct member *member = members; member != NULL; member = member->hh.next)
        if (strcmp(member->name, name) == 0)
            return member;
    return NULL;
}

static struct member *member_of_journal(const char *name)
{
    /* The key of the table is the watch. Root watches no user's directory, so a number below 0
     * takes the place of the watch. */
    static int next = -1;
    const struct passwd *account;
    uint64_t uid = 0;
    struct member *member = member_named(name);
    if (member != NULL)
        return member;
    member = calloc(1, sizeof *member);
    if (member == NULL || (member->name = strdup(name)) == NULL)
        abort();
    const bool is_number = parse_number(name, UINT32_MAX, &uid);
    account = is_number ? NULL : getpwnam(name);
    member->uid = account != NULL ? account->pw_uid : is_number ? (uid_t)uid : (uid_t)-1;
    member->directory = -1;
    member->watch = next--;
    HASH_ADD_INT(members, watch, member);
    return member;
}

static void is_booked(const char *user, const char *name, json_t *verdict)
{
    if (reservation_name_is_valid(name))
        take_verdict(row_of(member_of_journal(user), name), verdict, true);
    json_decref(verdict);
}

static void is_gone(const char *user, const char *name)
{
    struct member *member = member_named(user);
    struct row *row = NULL;
    if (member != NULL)
        HASH_FIND_STR(member->rows, name, row);
    if (row != NULL)
        remove_row(row);
}

static bool read_journal(void)
{
    static const struct journal_listener listener = {is_booked, is_gone};
    return journal_read(root, &listener);
}

/* ---- directories of users ---- */

static void drop_member(struct member *member)
{
    read_news(); /* empties the list, so that it has no row of this member */
    struct row *row = member->rows, *next;
    HASH_CLEAR(hh, member->rows); /* frees the table; the rows stay linked by hh.next */
    for (; row != NULL; row = next) {
        next = row->hh.next;
        free_row(row);
    }
    HASH_DEL(members, member);
    inotify_rm_watch(events, member->watch);
    close(member->directory);
    free(member->name);
    free(member);
}

/* True if fd is the directory that the member has open. The user may have moved the open directory
 * away and made another. */
static bool is_same(const struct member *member, int fd)
{
    struct stat one, other;
    return fstat(member->directory, &one) == 0 && fstat(fd, &other) == 0 &&
           one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

static bool add_member(const char *name)
{
    char path[40];
    struct stat status;
    int fd = openat(specs, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct member *member = member_named(name);
    if (member != NULL && fd >= 0 && is_same(member, fd)) {
        close(fd);
        return true;
    }
    if (member != NULL)
        drop_member(member);
    if (fd < 0 || fstat(fd, &status) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int watch = inotify_add_watch(events, path, directory_events);
    HASH_FIND_INT(members, &watch, member);
    member = watch < 0 || member != NULL ? NULL : calloc(1, sizeof *member);
    /* a directory that is watched under another name has been renamed: another event of inotify has
     * the new name */
    if (member == NULL) {
        close(fd);
        return false;
    }
    *member = (struct member){
        .name = strdup(name), .uid = status.st_uid, .directory = fd, .watch = watch, .scan = true};
    HASH_ADD_INT(members, watch, member);
    return true;
}

/* ---- inotify(7) ---- */

/* Takes one event of inotify. True: status.json may have changed. */
static bool take_event(const struct inotify_event *event)
{
    struct member *member;
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        for (member = members; member != NULL; member = member->hh.next)
            member->scan = !everybody;
        return true;
    }
    if (event->wd == spool_watch)
        return event->len > 0 && strcmp(event->name, "status.json") == 0;
    HASH_FIND_INT(members, &event->wd, member);
    if (member != NULL && event->len > 0)
        take_name(member, event->name);
    return false;
}

bool rows_take_events(void)
{
    static char room[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool status_changed = false;
    ssize_t length;
    while ((length = read(events, room, sizeof room)) > 0)
        for (const char *at = room; at < room + length;
             at += sizeof(struct inotify_event) + ((const struct inotify_event *)at)->len)
            status_changed |= take_event((const struct inotify_event *)at);
    return status_changed;
}

void rows_refresh(int64_t now)
{
    if (everybody)
        (void)read_journal();
    for (struct member *member = members; member != NULL; member = member->hh.next)
        if (member->scan)
            scan_member(member);
    read_news();
    for (struct member *member = members; member != NULL; member = member->hh.next)
        for (struct row *row = member->rows; row != NULL; row = row->hh.next)
            if (row->tid != 0)
                look_at_thread(row, now);
}

/* ---- order ---- */

static enum row_order order_by;
static bool in_reverse;

static int compare_numbers(uint64_t one, uint64_t other)
{
    return one < other ? 1 : one > other ? -1 : 0; /* the largest first */
}

static int compare_by(const struct row *a, const struct row *b)
{
    switch (order_by) {
    case BY_USER: return strcmp(a->owner->name, b->owner->name);
    case BY_PLUGIN: return strcmp(a->plugin, b->plugin);
    case BY_SHARE: return compare_numbers(a->share, b->share);
    case BY_USE: return compare_numbers(a->uses, b->uses);
    case BY_RATIO: return compare_numbers(row_ratio(a), row_ratio(b));
    case BY_WAIT: return compare_numbers(a->waits, b->waits);
    case BY_OVER: return compare_numbers(a->over, b->over);
    case BY_TID: return compare_numbers((uint64_t)a->tid, (uint64_t)b->tid);
    case BY_NAME:
    case ROW_ORDERS: break;
    }
    return 0;
}

static int compare(const void *one, const void *other)
{
    const struct row *a = *(struct row *const *)one, *b = *(struct row *const *)other;
    int differs = compare_by(a, b);
    if (differs == 0)
        differs = strverscmp(a->name, b->name);
    if (differs == 0)
        differs = strcmp(a->owner->name, b->owner->name);
    return in_reverse ? -differs : differs;
}

struct row *const *rows_sorted(enum row_order order, bool reverse, bool attached, size_t *count)
{
    size_t found = 0;
    if (row_count > list_size) {
        list_size = row_count * 2;
        list = realloc(list, list_size * sizeof *list);
        if (list == NULL)
            abort();
    }
    for (struct member *member = members; member != NULL; member = member->hh.next)
        for (struct row *row = member->rows; row != NULL; row = row->hh.next)
            if (!attached || row->tid != 0)
                list[found++] = row;
    order_by = order;
    in_reverse = reverse;
    if (found > 1)
        qsort(list, found, sizeof *list, compare);
    *count = found;
    return list;
}

/* ---- the beginning ---- */

/* Raises the limit of open files, because each thread has an open file. */
static void lift_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

bool rows_are_everybodys(void)
{
    return everybody;
}

int rows_open(struct client *client, bool all, const char **why)
{
    char path[40];
    lift_limit();
    root = client->root;
    specs = client->specs;
    everybody = all;
    events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", client->root);
    spool_watch = events < 0 ? -1 : inotify_add_watch(events, path, IN_MOVED_TO | IN_ONLYDIR);
    if (spool_watch < 0) {
        *why = strerror(errno);
        return EX_OSERR;
    }
    if (all && !read_journal()) {
        *why = "the journal in state/current does not belong to root, or cannot be read";
        return EX_OSERR;
    }
    const enum client_outcome outcome = all ? CLIENT_GONE : client_enter(client, false);
    if (outcome == CLIENT_OK)
        (void)add_member(client->user);
    *why = client->why;
    return outcome == CLIENT_OK || outcome == CLIENT_GONE ? EX_OK
                                                          : client_status_of_outcome(outcome);
}
