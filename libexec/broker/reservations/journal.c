#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "background.h"
#include "expiry.h"
#include "place.h"
#include "plugins.h"
#include "spec.h"
#include "spool.h"
#include "units.h"
#include "wait-queue.h"

enum { BLOAT_BYTES = 4 << 20, BLOAT_TIMES = 4, AT_ONCE_BYTES = 1 << 16 };

/* A file to which the broker appends records. */
struct written {
    int fd;
    off_t length;
    bool torn; /* the file has an incomplete record after the first `length` bytes */
};
static const struct written no_file = {.fd = -1};

static struct {
    /* old: the former journal, which is in force until `file` is committed */
    struct written file, old;
    off_t begun_length, retry_length;
    bool behind;
    bool afresh; /* the file is not in force yet, so its records may be written together */
    struct paragraph_output output;
} writer = {.file = {.fd = -1}, .old = {.fd = -1}};

/* ---- writing ---- */

static bool is_being_written_anew(void)
{
    return writer.old.fd >= 0;
}

/* Writes the records of writer.output. After a failed write, the function cuts the incomplete
 * record off, so that no record follows an incomplete record. */
static bool put_out(void)
{
    struct written *file = &writer.file;
    if (file->torn)
        file->torn = ftruncate(file->fd, file->length) != 0;
    const ssize_t put =
        file->fd < 0 || file->torn ? -1 : write(file->fd, writer.output.data, writer.output.length);
    const bool good = put == (ssize_t)writer.output.length;
    const int error = put >= 0 && !good ? ENOSPC : errno;
    if (put > 0 && !good)
        file->torn = ftruncate(file->fd, file->length) != 0;
    if (good)
        file->length += put;
    /* if a new journal cannot be written, the caller abandons it */
    else if (!is_being_written_anew())
        writer.behind = true;
    writer.output.length = 0;
    errno = error;
    return good;
}

static bool append(void)
{
    paragraph_close(&writer.output);
    return (writer.afresh && writer.output.length < AT_ONCE_BYTES) || put_out();
}

static const int64_t second = 1000000000; /* ns */

static void add_stamp(const char *key, const struct stamp *stamp)
{
    char both[NUMBER_TEXT + SECONDS_TEXT], inode[NUMBER_TEXT], changed[SECONDS_TEXT];
    if (stamp->inode == 0)
        return;
    char *end = stpcpy(both, format_number(stamp->inode, inode));
    *end = ':';
    (void)stpcpy(end + 1, format_seconds(stamp->changed, changed));
    paragraph_add(&writer.output, key, both);
}

static void add_claims(const struct holding *holding)
{
    for (; holding != NULL; holding = holding->next) {
        struct claim claim = holding->claim;
        snprintf(claim.plugin, sizeof claim.plugin, "%s", plugin_line(holding->plugin)->name);
        claims_add(&writer.output, &claim);
    }
}

static void add_background(const struct grant *grant)
{
    for (int plugin = grant_background(grant); plugin != NO_PLUGIN;
         plugin = grant_background_after(grant, plugin)) {
        const struct claim claim = grant_background_claim(plugin);
        claims_add(&writer.output, &claim);
    }
}

static void add_grant(const struct grant *grant)
{
    if (grant->plugin == NO_PLUGIN)
        paragraph_add(&writer.output, "plugin", NO_PLUGIN_NAME);
    else {
        paragraph_add(&writer.output, "plugin", plugin_line(grant->plugin)->name);
        cpu_record(&writer.output, grant);
    }
    add_claims(grant->holdings);
    add_background(grant);
    spec_add_mode(&writer.output, &grant->spec);
    extras_add(&writer.output, &grant->spec.extras);
    paragraph_add_stated(&writer.output, "lifetime_thread", grant->spec.lifetime_thread);
    paragraph_add_stated(&writer.output, "expires", grant->spec.expires);
    paragraph_add_stated(&writer.output, "importance", (uint64_t)grant->spec.importance);
    paragraph_add_stated(&writer.output, "weight", (uint64_t)grant->spec.weight);
    paragraph_add_stated(&writer.output, "budget_process", grant->spec.budget_process);
    paragraph_add_stated(&writer.output, "move_process", grant->spec.move_process);
    paragraph_add_stated(&writer.output, "attach", (uint64_t)grant->spec.attach);
    paragraph_add_stated(&writer.output, "attach_kept", grant->spec.attach_kept);
}

static void name_reservation(const char *record, const struct reservation *reservation)
{
    paragraph_add(&writer.output, "record", record);
    paragraph_add(&writer.output, "user", reservation->user->name);
    paragraph_add(&writer.output, "name", reservation->name);
    paragraph_add_number(&writer.output, "task", reservation->task);
}

static void add_former_lock(const struct attachment *attachment)
{
    if (!attachment->former_lock.is_known)
        return;
    paragraph_add_number(&writer.output, "former_lock_soft", attachment->former_lock.soft);
    paragraph_add_number(&writer.output, "former_lock_hard", attachment->former_lock.hard);
    paragraph_add_number(&writer.output, "lock_since", attachment->former_lock.since);
    paragraph_add_stated(&writer.output, "given_lock", attachment->given.lock_memory);
}

bool journal_reservation(const struct reservation *reservation)
{
    name_reservation("reservation", reservation);
    paragraph_add_number(&writer.output, "time", (uint64_t)reservation->decided);
    paragraph_add_stated(&writer.output, "class", reservation->class);
    add_stamp("judged", &reservation->judged);
    add_stamp("judged_tid", &reservation->judged_tid);
    paragraph_add_stated(&writer.output, "lease", (uint64_t)expiry_end(reservation));
    paragraph_add_stated(&writer.output, "waits", (uint64_t)waits_since(reservation));
    paragraph_add_stated(&writer.output, "ending",
                         reservation->state == RESERVATION_ENDING && reservation->grant == NULL
                             ? (uint64_t)reservation->ended
                             : 0);
    if (reservation->token != NULL)
        paragraph_add(&writer.output, "token", reservation->token);
    if (reservation->grant != NULL)
        add_grant(reservation->grant);
    if (reservation->attachment != NULL) {
        paragraph_add_number(&writer.output, "tid", (uint64_t)reservation->attachment->tid);
        paragraph_add_number(&writer.output, "started_by", reservation->attachment->started_by);
        paragraph_add_number(&writer.output, "process", (uint64_t)reservation->attachment->process);
        paragraph_add_stated(&writer.output, "by_file", reservation->attachment->by_file);
        paragraph_add_stated(&writer.output, "laid_down",
                             reservation->attachment->state == ATTACHMENT_LAID_DOWN);
        paragraph_add_stated(&writer.output, "pending",
                             attachment_is_pending(reservation->attachment));
        attributes_add(&writer.output, "former_", &reservation->attachment->former);
        add_former_lock(reservation->attachment);
        if (reservation->attachment->former_ioprio >= 0)
            paragraph_add_number(&writer.output, "former_ioprio",
                                 (uint64_t)reservation->attachment->former_ioprio);
        if (reservation->attachment->group != NULL)
            paragraph_add(&writer.output, "former_group", reservation->attachment->group);
    }
    return append();
}

bool journal_gone(const struct reservation *reservation)
{
    name_reservation("gone", reservation);
    return append();
}

bool journal_left(void)
{
    paragraph_add(&writer.output, "record", "left");
    return append();
}

static void read_boot(char boot[static 64])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL || fgets(boot, 64, file) == NULL)
        snprintf(boot, 64, "unknown");
    boot[strcspn(boot, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

bool journal_begin(char reason[static REASON_BYTES])
{
    char boot[64];
    const int fd = openat(spool.state, place_journal_new,
                          O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(reason, REASON_BYTES, "%s/%s: %s", place_path(), place_journal_new,
                 strerror(errno));
        return false; /* the former journal stays in force */
    }
    writer.old = writer.file;
    writer.file = (struct written){.fd = fd};
    writer.afresh = true;
    read_boot(boot);
    paragraph_add(&writer.output, "record", "boot");
    paragraph_add(&writer.output, "boot", boot);
    paragraph_add_number(&writer.output, "format", JOURNAL_FORMAT);
    return append();
}

bool journal_commit(char reason[static REASON_BYTES])
{
    paragraph_add(&writer.output, "record", "whole");
    paragraph_close(&writer.output);
    writer.afresh = false;
    if (!put_out() || renameat(spool.state, place_journal_new, spool.state, place_journal) != 0) {
        snprintf(reason, REASON_BYTES, "%s/%s: %s", place_path(), place_journal, strerror(errno));
        return false;
    }
    if (writer.old.fd >= 0)
        close(writer.old.fd);
    writer.old = no_file;
    writer.begun_length = writer.file.length;
    writer.retry_length = 0;
    writer.behind = false;
    return true;
}

void journal_abandon(void)
{
    writer.afresh = false;
    writer.output.length = 0;
    if (writer.file.fd >= 0 && is_being_written_anew()) {
        /* frees the disk space; the empty file stays until the next journal is begun */
        (void)ftruncate(writer.file.fd, 0);
        close(writer.file.fd);
        writer.file = writer.old;
        writer.old = no_file;
        /* so that the next try comes when the journal has doubled, and not at each turn of the
         * loop */
        writer.retry_length = writer.file.length * 2;
    }
}

void journal_clear(void)
{
    (void)ftruncate(writer.file.fd, 0);
}

bool journal_is_behind(void)
{
    return writer.behind;
}

bool journal_is_bloated(void)
{
    const off_t length = writer.file.length;
    return length > BLOAT_BYTES && length > writer.begun_length * BLOAT_TIMES &&
           length > writer.retry_length;
}

/* ---- reading ---- */

/* The reservations read so far, by task number. A name does not identify a reservation, because a
 * later reservation may have the name of an ended reservation. */
struct known {
    uint64_t task;
    int index;
    UT_hash_handle hh;
};

static bool get_stamp(const struct paragraph *record, const char *key, struct stamp *stamp)
{
    unsigned long long inode;
    long long seconds, nanoseconds;
    const char *text = paragraph_get(record, key);
    *stamp = (struct stamp){0};
    if (text == NULL)
        return true;
    if (sscanf(text, "%llu:%lld.%lld", &inode, &seconds, &nanoseconds) != 3 || seconds < 0 ||
        seconds >= INT64_MAX / second || nanoseconds < 0 || nanoseconds >= second)
        return false;
    stamp->inode = inode;
    stamp->changed = seconds * second + nanoseconds;
    return true;
}

static bool get_text(const struct paragraph *record, const char *key, char *into, size_t size)
{
    const char *text = paragraph_get(record, key);
    snprintf(into, size, "%s", text == NULL ? "" : text);
    return text == NULL || strlen(text) < size;
}

/* Sets *value to the value of the key; to 0 if the key is absent. False: the value is not a number
 * from 0 to max. */
static bool journal_get(const struct paragraph *record, const char *key, uint64_t max,
                        uint64_t *value)
{
    *value = 0;
    return paragraph_get_number(record, key, max, value) >= 0;
}

static bool get_int(const struct paragraph *record, const char *key, int max, int *value)
{
    uint64_t number;
    bool good = journal_get(record, key, (uint64_t)max, &number);
    *value = (int)number;
    return good;
}

static bool get_bool(const struct paragraph *record, const char *key, bool *value)
{
    uint64_t number;
    bool good = journal_get(record, key, 1, &number);
    *value = number != 0;
    return good;
}

static bool get_grant(const struct paragraph *record, struct recorded_reservation *reservation)
{
    struct grant *grant = &reservation->grant;
    struct spec *spec = &grant->spec;
    const bool has_plan = strcmp(reservation->plugin, NO_PLUGIN_NAME) != 0;
    return (!has_plan || cpu_take_up(record, grant)) && spec_get_mode(record, spec) &&
           extras_get(record, &spec->extras) &&
           get_int(record, "attach", INT32_MAX, &spec->attach) &&
           get_bool(record, "lifetime_thread", &spec->lifetime_thread) &&
           get_bool(record, "budget_process", &spec->budget_process) &&
           get_bool(record, "move_process", &spec->move_process) &&
           get_bool(record, "attach_kept", &spec->attach_kept) &&
           journal_get(record, "expires", TIME_MAX, &spec->expires) &&
           get_int(record, "importance", IMPORTANCE_MAX, &spec->importance) &&
           get_int(record, "weight", WEIGHT_MAX, &spec->weight);
}

static bool get_former_lock(const struct paragraph *record,
                            struct recorded_reservation *reservation)
{
    struct former_lock *former = &reservation->former_lock;
    former->is_known = paragraph_get(record, "former_lock_hard") != NULL;
    return journal_get(record, "former_lock_soft", UINT64_MAX, &former->soft) &&
           journal_get(record, "former_lock_hard", UINT64_MAX, &former->hard) &&
           journal_get(record, "lock_since", UINT64_MAX, &former->since) &&
           journal_get(record, "given_lock", LOCK_MEMORY_MAX, &reservation->given_lock);
}

static bool get_thread(const struct paragraph *record, struct recorded_reservation *reservation)
{
    reservation->attached = paragraph_get(record, "tid") != NULL;
    reservation->former_ioprio = -1;
    bool good = get_int(record, "tid", INT32_MAX, &reservation->tid) &&
                get_int(record, "process", INT32_MAX, &reservation->process) &&
                journal_get(record, "started_by", UINT64_MAX, &reservation->started_by) &&
                (paragraph_get(record, "former_ioprio") == NULL ||
                 get_int(record, "former_ioprio", INT32_MAX, &reservation->former_ioprio)) &&
                get_former_lock(record, reservation) &&
                get_bool(record, "by_file", &reservation->by_file) &&
                get_bool(record, "laid_down", &reservation->laid_down);
    return good &&
           (!reservation->attached ||
            (reservation->tid > 0 && attributes_get(record, "former_", &reservation->former)));
}

static void free_parts(struct recorded_reservation *reservation)
{
    free(reservation->group);
    spec_free(&reservation->grant.spec);
    reservation->group = NULL;
    claims_free(&reservation->claims);
}

static bool get_reservation(const struct paragraph *record,
                            struct recorded_reservation *reservation)
{
    uint64_t time, lease, waits, ended;
    *reservation = (struct recorded_reservation){0};
    if (!journal_get(record, "task", UINT64_MAX, &reservation->task) ||
        !journal_get(record, "class", UINT16_MAX, &reservation->class) ||
        !journal_get(record, "time", INT64_MAX, &time) ||
        !get_text(record, "user", reservation->user, sizeof reservation->user) ||
        !get_text(record, "name", reservation->name, sizeof reservation->name) ||
        !get_text(record, "token", reservation->token, sizeof reservation->token) ||
        !get_text(record, "plugin", reservation->plugin, sizeof reservation->plugin) ||
        !journal_get(record, "lease", INT64_MAX, &lease) ||
        !journal_get(record, "waits", INT64_MAX, &waits) ||
        !journal_get(record, "ending", ENDED_USER, &ended) ||
        !get_stamp(record, "judged", &reservation->judged) ||
        !get_stamp(record, "judged_tid", &reservation->judged_tid) ||
        !get_thread(record, reservation))
        return false;
    if (strchr(reservation->user, '/') != NULL || !reservation_name_is_valid(reservation->name))
        return false;
    reservation->time = (int64_t)time;
    reservation->lease = (int64_t)lease;
    reservation->waits = (int64_t)waits;
    reservation->ended = (enum ended)ended;
    reservation->granted = reservation->plugin[0] != '\0';
    if (reservation->granted &&
        (!get_grant(record, reservation) || !claims_get(record, &reservation->claims))) {
        free_parts(reservation);
        return false;
    }
    const char *group = paragraph_get(record, "former_group");
    reservation->group = group == NULL ? NULL : strdup(group);
    return true;
}

/* Adds or replaces the reservation, or removes it if `gone`. Takes over the memory of the record's
 * group and claims. */
static void journal_remember(struct recorded_state *state, struct known **known,
                             struct recorded_reservation *reservation, bool gone)
{
    struct known *found;
    if (gone) {
        free_parts(reservation);
    }
    HASH_FIND(hh, *known, &reservation->task, sizeof reservation->task, found);
    if (found != NULL) {
        free_parts(&state->reservations[found->index]);
        state->reservations[found->index] = *reservation;
        if (gone) {
            state->reservations[found->index].name[0] = '\0';
            HASH_DEL(*known, found);
            free(found);
        }
        return;
    }
    if (gone)
        return;
    if (state->count == state->room) {
        state->room = state->room == 0 ? 64 : state->room * 2;
        state->reservations =
            realloc(state->reservations, (size_t)state->room * sizeof *state->reservations);
    }
    found = calloc(1, sizeof *found);
    if (found == NULL || state->reservations == NULL)
        abort();
    found->task = reservation->task;
    found->index = state->count;
    state->reservations[state->count++] = *reservation;
    HASH_ADD(hh, *known, task, sizeof found->task, found);
}

/* The state of reading a journal. */
struct reading {
    struct recorded_state *state;
    struct known *known;
    bool whole;
    const char *why; /* why the file cannot be read */
};

static bool take_boot(struct reading *reading, const struct paragraph *record)
{
    char boot[64];
    uint64_t format;
    read_boot(boot);
    const char *recorded = paragraph_get(record, "boot");
    reading->state->same_boot = recorded != NULL && strcmp(recorded, boot) == 0;
    if (!journal_get(record, "format", UINT64_MAX, &format))
        return false;
    if (format != JOURNAL_FORMAT)
        reading->why = "another version of rtf has written the journal";
    return format == JOURNAL_FORMAT;
}

static bool take_record(struct reading *reading, const struct paragraph *record)
{
    struct recorded_reservation reservation;
    const char *kind = paragraph_get(record, "record");
    if (kind == NULL)
        return false;
    reading->state->left_in_force = strcmp(kind, "left") == 0;
    if (strcmp(kind, "boot") == 0)
        return take_boot(reading, record);
    if (strcmp(kind, "whole") == 0)
        reading->whole = true;
    else if (strcmp(kind, "reservation") == 0 || strcmp(kind, "gone") == 0) {
        if (!get_reservation(record, &reservation))
            return false;
        journal_remember(reading->state, &reading->known, &reservation, kind[0] == 'g');
    }
    return true;
}

static void drop_gone(struct recorded_state *state)
{
    int kept = 0;
    for (int i = 0; i < state->count; i++)
        if (state->reservations[i].name[0] != '\0')
            state->reservations[kept++] = state->reservations[i];
    state->count = kept;
}

static void forget_keys(struct known **known)
{
    struct known *one = *known;
    HASH_CLEAR(hh, *known); /* frees only the table; the elements stay linked by hh.next */
    while (one != NULL) {
        struct known *next = one->hh.next;
        free(one);
        one = next;
    }
}

/* True: only root can have written the file. */
static bool is_ours(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           status.st_nlink == 1 && (status.st_mode & 022) == 0;
}

static bool read_records(int fd, struct reading *reading)
{
    struct paragraph_input input = {0};
    struct paragraph record;
    ssize_t got;
    bool good = true;
    reading->why = "a record is not valid";
    while (good && (got = paragraph_fill(&input, fd)) != 0) {
        int taken = 0;
        good = got > 0;
        while (good && (taken = paragraph_take(&input, &record, &reading->why)) != 0)
            good = taken == 1 && take_record(reading, &record);
    }
    paragraph_input_free(&input);
    return good;
}

/* False: the journal was damaged. A new journal is renamed to journal only when it is whole, so a
 * journal of this boot that is not whole was damaged later. A journal of another boot may be cut
 * short because the machine stopped. Such a journal, and an empty journal (journal_clear), counts
 * as a journal without reservations. */
static bool is_not_cut_short(struct reading *reading)
{
    const bool damaged = !reading->whole && reading->state->same_boot;
    if (damaged)
        reading->why = "the file is cut short";
    else if (!reading->whole)
        journal_free(reading->state);
    return !damaged;
}

/* False: *why says why the journal cannot be read. */
static bool read_journal(struct recorded_state *state, const char **why)
{
    struct reading reading = {.state = state};
    const int fd = spool.state < 0 ? -1
                                   : openat(spool.state, place_journal,
                                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        *why = strerror(errno);
        return spool.state < 0 || errno == ENOENT;
    }
    const bool ours = is_ours(fd),
               good = ours && read_records(fd, &reading) && is_not_cut_short(&reading);
    *why = ours ? reading.why : "the file is not root's alone";
    close(fd);
    forget_keys(&reading.known);
    drop_gone(state);
    return good;
}

bool journal_read(struct recorded_state *state, char reason[static REASON_BYTES])
{
    const char *why;
    *state = (struct recorded_state){0};
    if (read_journal(state, &why))
        return true;
    journal_free(state);
    snprintf(reason, REASON_BYTES, "%s/%s cannot be read: %s; move it away to start without it",
             place_path(), place_journal, why);
    return false;
}

void journal_free(struct recorded_state *state)
{
    for (int i = 0; i < state->count; i++)
        free_parts(&state->reservations[i]);
    free(state->reservations);
    *state = (struct recorded_state){0};
}
