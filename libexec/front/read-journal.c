#include "read-journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "paragraph.h"
#include "resource.h"
#include "units.h"

static const char file_name[] = "journal";
static const char no_plugin[] = "-";

/* The last record of each reservation. */
struct booked {
    UT_hash_handle hh;
    char *place; /* USER/NAME, the key */
    uint64_t task;
    /* the reservation is in the journal, which is being read again from its beginning */
    bool seen;
    bool told;       /* `booked` was called for the reservation */
    bool changed;    /* in the list `changed` */
    json_t *verdict; /* not passed to the listener yet; NULL: the reservation has ended */
    struct booked *next_changed;
};
static struct booked *all, *changed;

static int file = -1; /* the journal in force; -1: no journal is open */
static off_t length;  /* how many bytes have been read */
static struct paragraph_input input;
static const struct journal_listener *tell;

/* ---- one record ---- */

/* Returns the number at this key. JSON null: the record has no such key, or the value is 0. */
static json_t *number_or_null(const struct paragraph *record, const char *key)
{
    uint64_t number;
    return paragraph_get_number(record, key, INT64_MAX, &number) == 1 && number != 0
               ? json_integer((json_int_t)number)
               : json_null();
}

static json_t *text_or_null(const struct paragraph *record, const char *key)
{
    const char *text = paragraph_get(record, key);
    return text == NULL || text[0] == '\0' ? json_null() : json_string(text);
}

static uint64_t number(const struct paragraph *record, const char *key)
{
    uint64_t value;
    return paragraph_get_number(record, key, INT64_MAX, &value) == 1 ? value : 0;
}

static json_t *claims_as_json(const struct paragraph *record)
{
    json_t *list = json_array();
    struct claim *claims;
    (void)claims_get(record, &claims);
    for (const struct claim *claim = claims; claim != NULL; claim = claim->next) {
        const char *where = resource_where(claim->resource);
        json_t *object = json_pack("{s:s, s:s}", "resource", resource_name(claim->resource),
                                   "plugin", claim->plugin);
        for (int i = 0; i < CLAIM_VALUES && resource_keys(claim->resource)[i].name != NULL &&
                        !claim->background;
             i++)
            json_object_set_new(object, resource_keys(claim->resource)[i].name,
                                json_integer(
                                    (json_int_t)(i == 0 ? claim_least(claim) : claim->values[i])));
        if (where != NULL && claim->where[0] != '\0')
            json_object_set_new(object, where, json_string(claim->where));
        if (claim->background)
            json_object_set_new(object, "background", json_true());
        json_array_append_new(list, object);
    }
    claims_free(&claims);
    return list;
}

static json_t *grant_as_json(const struct paragraph *record)
{
    const char *plugin = paragraph_get(record, "plugin");
    if (plugin == NULL)
        return json_null();
    const bool has_plan = strcmp(plugin, no_plugin) != 0;
    json_t *deadline = number(record, "deadline") != 0 ? number_or_null(record, "deadline")
                                                       : number_or_null(record, "period");
    json_t *grant =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "plugin",
                  has_plan ? json_string(plugin) : json_null(), "policy",
                  text_or_null(record, "policy"), "cpus", text_or_null(record, "cpus"), "priority",
                  number_or_null(record, "priority"), "runtime", number_or_null(record, "runtime"),
                  "desired_runtime", number_or_null(record, "desired_runtime"), "accepted_runtime",
                  number_or_null(record, "accepted_runtime"), "period",
                  number_or_null(record, "period"), "deadline", deadline, "utilization",
                  (json_int_t)number(record, "utilization"));
    json_object_set_new(grant, "expires", number_or_null(record, "expires"));
    json_object_set_new(grant, "claims", claims_as_json(record));
    return grant;
}

static json_t *thread_as_json(const struct paragraph *record)
{
    uint64_t tid;
    if (paragraph_get_number(record, "tid", INT32_MAX, &tid) != 1 ||
        paragraph_get(record, "laid_down") != NULL)
        return json_null(); /* there is no thread, or a broker that ended has made the thread ordinary */
    return json_pack("{s:I, s:s}", "tid", (json_int_t)tid, "state",
                     paragraph_get(record, "pending") != NULL ? "pending" : "attached");
}

static json_t *time_as_json(const struct paragraph *record)
{
    uint64_t time;
    char text[40], second[24];
    struct tm utc;
    if (paragraph_get_number(record, "time", INT64_MAX, &time) != 1 || time == 0)
        return json_null();
    const time_t seconds = (time_t)(time / 1000000000);
    gmtime_r(&seconds, &utc);
    strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof text, "%s.%06dZ", second, (int)(time % 1000000000 / 1000));
    return json_string(text);
}

static json_t *verdict_of(const struct paragraph *record)
{
    const char *result = paragraph_get(record, "plugin") != NULL  ? "OK"
                         : paragraph_get(record, "waits") != NULL ? "WAITING"
                                                                  : NULL;
    return json_pack("{s:o, s:s?, s:o, s:o, s:o, s:o}", "token", text_or_null(record, "token"),
                     "result", result, "grant", grant_as_json(record), "thread",
                     thread_as_json(record), "time", time_as_json(record), "lease",
                     number_or_null(record, "lease"));
}

/* Takes over the verdict, and puts the reservation into the list `changed`. If journal_read reads
 * several verdicts on a reservation in one call, the listener gets only the last. */
static void change(struct booked *booked, json_t *verdict)
{
    json_decref(booked->verdict);
    booked->verdict = verdict;
    if (booked->changed)
        return;
    booked->changed = true;
    booked->next_changed = changed;
    changed = booked;
}

static void tell_one(struct booked *booked)
{
    char *slash = strchr(booked->place, '/');
    *slash = '\0';
    if (booked->verdict != NULL)
        tell->booked(booked->place, slash + 1, booked->verdict);
    else if (booked->told)
        tell->gone(booked->place, slash + 1);
    *slash = '/';
    booked->told = true;
    booked->changed = false;
    if (booked->verdict == NULL) {
        HASH_DEL(all, booked);
        free(booked->place);
        free(booked);
        return;
    }
    booked->verdict = NULL;
}

static void tell_all(void)
{
    while (changed != NULL) {
        struct booked *booked = changed;
        changed = booked->next_changed;
        tell_one(booked);
    }
}

static struct booked *find(const char *place)
{
    struct booked *booked;
    HASH_FIND_STR(all, place, booked);
    if (booked != NULL)
        return booked;
    booked = calloc(1, sizeof *booked);
    if (booked == NULL || (booked->place = strdup(place)) == NULL)
        abort();
    HASH_ADD_KEYPTR(hh, all, booked->place, strlen(booked->place), booked);
    return booked;
}

/* A user may move the directory away and get a new directory. Then each of the two directories may
 * have a reservation of the same name: the record with the larger task number counts. */
static void take_reservation(const struct paragraph *record, bool gone)
{
    char place[PARAGRAPH_BYTES];
    uint64_t task;
    const char *user = paragraph_get(record, "user"), *name = paragraph_get(record, "name");
    if (user == NULL || name == NULL || strchr(user, '/') != NULL ||
        paragraph_get_number(record, "task", UINT64_MAX, &task) != 1)
        return;
    snprintf(place, sizeof place, "%s/%s", user, name);
    struct booked *booked = find(place);
    if (booked->task > task)
        return;
    booked->task = task;
    booked->seen = true;
    change(booked, gone ? NULL : verdict_of(record));
}

static void take_record(const struct paragraph *record)
{
    const char *kind = paragraph_get(record, "record");
    if (kind == NULL)
        return;
    if (strcmp(kind, "reservation") == 0 || strcmp(kind, "gone") == 0)
        take_reservation(record, kind[0] == 'g');
}

/* ---- the files ---- */

/* Reads from `length` to the end of the file. The rest of a record that is not complete yet is read
 * by the next call. */
static void read_on(void)
{
    char bytes[1 << 16];
    struct paragraph record;
    const char *why;
    ssize_t got;
    int taken = 1;
    while (taken >= 0 && (got = pread(file, bytes, sizeof bytes, length)) > 0) {
        length += got;
        if (!paragraph_feed(&input, bytes, (size_t)got))
            abort();
        while ((taken = paragraph_take(&input, &record, &why)) == 1)
            take_record(&record);
    }
}

/* Opens state/current, and refuses a directory in which a user can have made a file: errno
 * EPERM. */
static int open_state(int root)
{
    struct stat status;
    const int state = openat(root, "state/current", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state < 0 ||
        (fstat(state, &status) == 0 && status.st_uid == 0 && (status.st_mode & 022) == 0))
        return state;
    close(state);
    errno = EPERM;
    return -1;
}

/* True if the open file is still the journal, and the broker has not truncated the file. */
static bool is_in_force_still(int state)
{
    struct stat open, named;
    if (file < 0 || fstat(file, &open) != 0 || open.st_size < length)
        return false;
    return length > 0 && fstatat(state, file_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

static void read_anew(int state)
{
    struct booked *booked, *next;
    if (file >= 0)
        close(file);
    file =
        state < 0 ? -1 : openat(state, file_name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    length = 0;
    paragraph_input_free(&input);
    input = (struct paragraph_input){0};
    HASH_ITER (hh, all, booked, next) {
        booked->seen = false;
        booked->task = 0;
    }
    if (file >= 0)
        read_on();
    HASH_ITER (hh, all, booked, next)
        if (!booked->seen)
            change(booked, NULL);
}

bool journal_read(int root, const struct journal_listener *listener)
{
    const int state = open_state(root);
    tell = listener;
    if (state < 0 && (errno == EACCES || errno == EPERM))
        return false;
    if (state >= 0 && is_in_force_still(state))
        read_on();
    else
        read_anew(state);
    tell_all();
    if (state >= 0)
        close(state);
    return true;
}
