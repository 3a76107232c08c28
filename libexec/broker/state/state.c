#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins.h"
#include "spec.h"
#include "spool.h"
#include "units.h"

static const char *const names[] = {"journal", "journal.other"};
enum { BLOAT_BYTES = 4 << 20, BLOAT_TIMES = 4, AT_ONCE_BYTES = 1 << 16 };

static int in_force = 0;                   /* which of the two */
static uint64_t generation;                /* of that */
static int journal = -1, old_journal = -1; /* old: in force until the new one is committed */
static off_t length, old_length, begun_length, retry_length;
static bool behind, torn, old_torn; /* torn: part of a record stands behind length */
static bool afresh;                 /* not in force yet: its records need not be written one by one */
static struct paragraph_output output;

/* ---- writing ---- */

/* A record is there whole or not at all, and none follows half of another. */
static bool put_out(void)
{
    if (torn)
        torn = ftruncate(journal, length) != 0;
    ssize_t put = journal < 0 || torn ? -1 : write(journal, output.data, output.length);
    bool good = put == (ssize_t)output.length;
    int error = put >= 0 && !good ? ENOSPC : errno;
    if (put > 0 && !good)
        torn = ftruncate(journal, length) != 0;
    if (good)
        length += put;
    else if (old_journal < 0) /* else it is a new one, which is given up */
        behind = true;
    output.length = 0;
    errno = error;
    return good;
}

static bool append(void)
{
    paragraph_close(&output);
    return (afresh && output.length < AT_ONCE_BYTES) || put_out();
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
    paragraph_add(&output, key, both);
}

static void add_if(const char *key, uint64_t number)
{
    if (number != 0)
        paragraph_add_number(&output, key, number);
}

static void add_grant(const struct grant *grant)
{
    char cpus[CPU_LIST_TEXT];
    paragraph_add(&output, "plugin", plugin_line(grant->plugin)->name);
    paragraph_add(&output, "policy", policy_name(grant->plan.policy));
    paragraph_add(&output, "cpus", format_cpus(&grant->plan.cpus, cpus));
    add_if("priority", (uint64_t)grant->plan.priority);
    add_if("accepted_runtime", grant->plan.runtime);
    add_if("period", grant->spec.period);
    add_if("deadline", grant->spec.deadline);
    add_if("runtime", grant->spec.runtime);
    add_if("desired_runtime", grant->spec.desired_runtime);
    add_if("requested_priority", (uint64_t)grant->spec.priority);
    add_if("ignore_admission", grant->spec.ignore_admission);
    add_if("lifetime_thread", grant->spec.lifetime_thread);
    add_if("move_process", grant->spec.move_process);
    add_if("attach", (uint64_t)grant->spec.attach);
}

static void name_wish(const char *record, const struct wish *wish)
{
    paragraph_add(&output, "record", record);
    paragraph_add(&output, "user", wish->user->name);
    paragraph_add(&output, "name", wish->name);
    paragraph_add_number(&output, "task", wish->task);
}

bool state_wish(const struct wish *wish)
{
    name_wish("wish", wish);
    paragraph_add_number(&output, "time", (uint64_t)wish->decided);
    add_stamp("judged", &wish->judged);
    add_stamp("judged_tid", &wish->judged_tid);
    if (wish->token != NULL)
        paragraph_add(&output, "token", wish->token);
    if (wish->grant != NULL)
        add_grant(wish->grant);
    if (wish->attachment != NULL) {
        paragraph_add_number(&output, "tid", (uint64_t)wish->attachment->tid);
        paragraph_add_number(&output, "started_by", wish->attachment->started_by);
        paragraph_add_number(&output, "process", (uint64_t)wish->attachment->process);
        add_if("by_file", wish->attachment->by_file);
        add_if("laid_down", wish->attachment->laid_down);
        attributes_add(&output, "former_", &wish->attachment->former);
        if (wish->attachment->group != NULL)
            paragraph_add(&output, "former_group", wish->attachment->group);
    }
    return append();
}

bool state_gone(const struct wish *wish)
{
    name_wish("gone", wish);
    return append();
}

bool state_rt_runtime(const char *former)
{
    paragraph_add(&output, "record", "kernel");
    paragraph_add(&output, "rt_runtime", former);
    return append();
}

bool state_left(void)
{
    paragraph_add(&output, "record", "left");
    return append();
}

bool state_reopen(void)
{
    journal = openat(spool.state, names[in_force], O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    length = journal < 0 ? 0 : lseek(journal, 0, SEEK_END);
    return journal >= 0;
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

/* What stands in this directory is older than what stands in spool.former, whatever its generation. */
static void forget_older(void)
{
    for (int i = 0; i < 2; i++) {
        const int fd = openat(spool.state, names[i], O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            close(fd);
    }
    in_force = 1;
}

bool state_begin(char reason[static REASON_BYTES])
{
    char boot[64];
    if (journal < 0 && spool.former >= 0)
        forget_older();
    const char *name = names[1 - in_force];
    int fd = openat(spool.state, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(reason, REASON_BYTES, "state/current/%s: %s", name, strerror(errno));
        return false; /* and nothing has begun */
    }
    old_journal = journal;
    old_length = length;
    old_torn = torn;
    journal = fd;
    length = 0;
    torn = false;
    afresh = true;
    read_boot(boot);
    paragraph_add(&output, "record", "boot");
    paragraph_add(&output, "boot", boot);
    paragraph_add_number(&output, "generation", generation + 1);
    return append();
}

bool state_commit(char reason[static REASON_BYTES])
{
    paragraph_add(&output, "record", "whole");
    paragraph_close(&output);
    afresh = false;
    if (!put_out()) {
        snprintf(reason, REASON_BYTES, "state/current/%s: %s", names[1 - in_force], strerror(errno));
        return false;
    }
    in_force = 1 - in_force;
    generation++;
    if (old_journal >= 0) {
        (void)ftruncate(old_journal, 0); /* it counts no more in any case */
        close(old_journal);
    }
    old_journal = -1;
    begun_length = length;
    retry_length = 0;
    behind = false;
    return true;
}

void state_abandon(void)
{
    afresh = false;
    output.length = 0;
    if (old_journal < 0)
        return; /* the first one: there is nothing to go back to */
    (void)ftruncate(journal, 0); /* for the disk's sake: it never counted */
    close(journal);
    journal = old_journal;
    length = old_length;
    torn = old_torn;
    old_journal = -1;
    retry_length = length * 2; /* not at every turn */
}

void state_settle(void)
{
    if (in_force != 0 && renameat(spool.state, names[1], spool.state, names[0]) == 0)
        in_force = 0;
}

bool state_is_behind(void)
{
    return behind;
}

bool state_is_bloated(void)
{
    return length > BLOAT_BYTES && length > begun_length * BLOAT_TIMES && length > retry_length;
}

/* ---- reading ---- */

/* The records so far, found again by their task: a name may have been moved away and taken anew. */
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
    if (sscanf(text, "%llu:%lld.%lld", &inode, &seconds, &nanoseconds) != 3 || seconds < 0 || seconds >= INT64_MAX / second || nanoseconds < 0 || nanoseconds >= second)
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

/* 0 where it is absent. False: it is there, and not a number up to that. */
static bool get(const struct paragraph *record, const char *key, uint64_t max, uint64_t *value)
{
    *value = 0;
    return paragraph_get_number(record, key, max, value) >= 0;
}

static bool get_int(const struct paragraph *record, const char *key, int max, int *value)
{
    uint64_t number;
    bool good = get(record, key, (uint64_t)max, &number);
    *value = (int)number;
    return good;
}

static bool get_bool(const struct paragraph *record, const char *key, bool *value)
{
    uint64_t number;
    bool good = get(record, key, 1, &number);
    *value = number != 0;
    return good;
}

static bool get_grant(const struct paragraph *record, struct recorded_wish *wish)
{
    struct attributes *plan = &wish->grant.plan;
    struct spec *spec = &wish->grant.spec;
    const char *policy = paragraph_get(record, "policy"), *cpus = paragraph_get(record, "cpus");
    if (policy == NULL || cpus == NULL || !policy_from_name(policy, &plan->policy) || !parse_cpus(cpus, &plan->cpus))
        return false;
    bool good = get(record, "period", TIME_MAX, &spec->period) && get(record, "deadline", TIME_MAX, &spec->deadline) &&
                get(record, "runtime", TIME_MAX, &spec->runtime) && get(record, "desired_runtime", TIME_MAX, &spec->desired_runtime) &&
                get(record, "accepted_runtime", TIME_MAX, &plan->runtime) && get_int(record, "requested_priority", PRIORITY_MAX, &spec->priority) &&
                get_int(record, "priority", PRIORITY_MAX, &plan->priority) && get_int(record, "attach", INT32_MAX, &spec->attach) &&
                get_bool(record, "ignore_admission", &spec->ignore_admission) && get_bool(record, "lifetime_thread", &spec->lifetime_thread) &&
                get_bool(record, "move_process", &spec->move_process);
    plan->period = spec->period;
    plan->deadline = spec->deadline != 0 ? spec->deadline : spec->period;
    return good;
}

static bool get_thread(const struct paragraph *record, struct recorded_wish *wish)
{
    wish->attached = paragraph_get(record, "tid") != NULL;
    bool good = get_int(record, "tid", INT32_MAX, &wish->tid) && get_int(record, "process", INT32_MAX, &wish->process) &&
                get(record, "started_by", UINT64_MAX, &wish->started_by) &&
                get_bool(record, "by_file", &wish->by_file) && get_bool(record, "laid_down", &wish->laid_down);
    return good && (!wish->attached || (wish->tid > 0 && attributes_get(record, "former_", &wish->former)));
}

static bool get_wish(const struct paragraph *record, struct recorded_wish *wish)
{
    uint64_t time;
    *wish = (struct recorded_wish){0};
    if (!get(record, "task", UINT64_MAX, &wish->task) || !get(record, "time", INT64_MAX, &time) ||
        !get_text(record, "user", wish->user, sizeof wish->user) || !get_text(record, "name", wish->name, sizeof wish->name) ||
        !get_text(record, "token", wish->token, sizeof wish->token) || !get_text(record, "plugin", wish->plugin, sizeof wish->plugin) ||
        !get_stamp(record, "judged", &wish->judged) || !get_stamp(record, "judged_tid", &wish->judged_tid) || !get_thread(record, wish))
        return false;
    if (strchr(wish->user, '/') != NULL || !name_is_valid(wish->name, strlen(wish->name), NAME_BYTES - 1))
        return false;
    wish->time = (int64_t)time;
    wish->granted = wish->plugin[0] != '\0';
    if (wish->granted && !get_grant(record, wish))
        return false;
    const char *group = paragraph_get(record, "former_group");
    wish->group = group == NULL ? NULL : strdup(group);
    return true;
}

/* Takes wish->group over. */
static void remember(struct recorded_state *state, struct known **known, struct recorded_wish *wish, bool gone)
{
    static int capacity;
    struct known *found;
    if (gone) {
        free(wish->group);
        wish->group = NULL;
    }
    HASH_FIND(hh, *known, &wish->task, sizeof wish->task, found);
    if (found != NULL) {
        free(state->wishes[found->index].group);
        state->wishes[found->index] = *wish;
        if (gone) {
            state->wishes[found->index].name[0] = '\0';
            HASH_DEL(*known, found);
            free(found);
        }
        return;
    }
    if (gone)
        return;
    if (state->count == 0)
        capacity = 0;
    if (state->count == capacity) {
        capacity = capacity == 0 ? 64 : capacity * 2;
        state->wishes = realloc(state->wishes, (size_t)capacity * sizeof *state->wishes);
    }
    found = calloc(1, sizeof *found);
    if (found == NULL || state->wishes == NULL)
        abort();
    found->task = wish->task;
    found->index = state->count;
    state->wishes[state->count++] = *wish;
    HASH_ADD(hh, *known, task, sizeof found->task, found);
}

/* What one file says. */
struct one_file {
    struct recorded_state state;
    uint64_t generation; /* 0: written before there were any */
    bool exists, whole;
};

static bool take_record(struct one_file *file, struct known **known, const struct paragraph *record)
{
    struct recorded_state *state = &file->state;
    char boot[64];
    struct recorded_wish wish;
    const char *kind = paragraph_get(record, "record");
    if (kind == NULL)
        return false;
    state->left_in_force = strcmp(kind, "left") == 0;
    if (strcmp(kind, "boot") == 0) {
        read_boot(boot);
        const char *recorded = paragraph_get(record, "boot");
        state->same_boot = recorded != NULL && strcmp(recorded, boot) == 0;
        return get(record, "generation", UINT64_MAX, &file->generation);
    } else if (strcmp(kind, "whole") == 0)
        file->whole = true;
    else if (strcmp(kind, "kernel") == 0)
        return get_text(record, "rt_runtime", state->rt_runtime, sizeof state->rt_runtime);
    else if (strcmp(kind, "wish") == 0 || strcmp(kind, "gone") == 0) {
        if (!get_wish(record, &wish))
            return false;
        remember(state, known, &wish, kind[0] == 'g');
    }
    return true;
}

static void drop_gone(struct recorded_state *state)
{
    int kept = 0;
    for (int i = 0; i < state->count; i++)
        if (state->wishes[i].name[0] != '\0')
            state->wishes[kept++] = state->wishes[i];
    state->count = kept;
}

static void forget_keys(struct known **known)
{
    struct known *one = *known;
    HASH_CLEAR(hh, *known); /* the table; its elements stay linked in their order */
    while (one != NULL) {
        struct known *next = one->hh.next;
        free(one);
        one = next;
    }
}

static bool read_file(int directory, const char *name, struct one_file *file, char reason[static REASON_BYTES])
{
    struct paragraph_input input = {0};
    struct paragraph record;
    struct known *known = NULL;
    const char *why = "a record that is not understood";
    bool good = true;
    *file = (struct one_file){.state.same_boot = true};
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) {
        snprintf(reason, REASON_BYTES, "state/current/%s: %s", name, strerror(errno));
        return false;
    }
    while (good && fd >= 0 && paragraph_fill(&input, fd) > 0) {
        int taken;
        while (good && (taken = paragraph_take(&input, &record, &why)) != 0) {
            file->exists = true;
            good = taken == 1 && take_record(file, &known, &record);
        }
    }
    forget_keys(&known);
    paragraph_input_free(&input);
    if (fd >= 0)
        close(fd);
    drop_gone(&file->state);
    file->whole |= file->generation == 0;
    if (!good)
        snprintf(reason, REASON_BYTES, "state/current/%s is damaged: %s; move it away to start without it", name, why);
    return good;
}

/* One that was cut short before it was whole has never been in force. */
static bool counts(const struct one_file *file)
{
    return file->exists && file->whole;
}

bool state_read(struct recorded_state *state, char reason[static REASON_BYTES])
{
    struct one_file files[2] = {0};
    const int directory = spool.former >= 0 ? spool.former : spool.state;
    const bool good = read_file(directory, names[0], &files[0], reason) && read_file(directory, names[1], &files[1], reason);
    in_force = counts(&files[1]) && !(counts(&files[0]) && files[0].generation > files[1].generation) ? 1 : 0;
    generation = files[in_force].generation;
    *state = counts(&files[in_force]) ? files[in_force].state : (struct recorded_state){.same_boot = true};
    for (int i = 0; i < 2; i++)
        if (i != in_force || !counts(&files[i]))
            state_free(&files[i].state);
    return good;
}

void state_free(struct recorded_state *state)
{
    for (int i = 0; i < state->count; i++)
        free(state->wishes[i].group);
    free(state->wishes);
    *state = (struct recorded_state){0};
}
