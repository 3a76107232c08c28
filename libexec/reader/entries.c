#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <uthash.h>

#include "clock.h"
#include "files.h"
#include "hard-links.h"
#include "kept.h"
#include "messages.h"
#include "pid-namespaces.h"
#include "programs.h"
#include "spec-parse.h"
#include "watches.h"

enum state { IDLE, NEWS, BUSY, TOLD };

struct entry {
    enum state state;
    bool again;        /* TOLD: the files have changed again, and the broker was told so */
    bool written;      /* an event other than the creation of a file arrived */
    bool whole;        /* tell the content even if it was told before */
    bool asked;        /* the broker waits for this name */
    bool sought;       /* NAME+TID: the program file NAME was looked for */
    struct stamp told; /* the NAME.json whose content was last told to the broker */
    struct content json, tid;
    /* BUSY: a watch on the file NAME.json itself, because its second name or its writer may be in
     * another directory; -1: no watch */
    int watch;
    int64_t look_at, pause; /* BUSY */
    int64_t one_name_by;    /* until this time two names are accepted; 0: the file has one name */
    struct owed *owed;      /* a verdict that has yet to be written (owed-verdicts.h); NULL: none */
    TAILQ_ENTRY(entry) of_state;
    UT_hash_handle hh, hh_watch;
    char name[];
};

/* TOLD_MAX: the most names that the broker has not answered yet, because the broker accepts no more
 * at a time. IDLE_MAX: see go_idle. */
enum { TOLD_MAX = 256, IDLE_MAX = 256 };
/* ns. A busy name is looked at after pauses that double from first_pause to last_look. */
static const int64_t first_pause = 1000000, last_look = 512000000;

static struct entry *entries, *watched;
static TAILQ_HEAD(entry_list, entry) news = TAILQ_HEAD_INITIALIZER(news),
                                     busy = TAILQ_HEAD_INITIALIZER(busy);
static int told_count, idle_count, total;

/* ---- the table ---- */

static struct entry *find(const char *name)
{
    struct entry *entry;
    HASH_FIND_STR(entries, name, entry);
    return entry;
}

static struct entry *find_or_make(const char *name)
{
    struct entry *entry = find(name);
    const size_t size = strlen(name) + 1;
    if (entry != NULL)
        return entry;
    entry = calloc(1, sizeof *entry + size);
    if (entry == NULL)
        abort(); /* the broker starts another reader, which scans the whole directory */
    memcpy(entry->name, name, size);
    entry->json.fd = entry->tid.fd = entry->watch = -1;
    HASH_ADD_KEYPTR(hh, entries, entry->name, size - 1, entry);
    total++;
    idle_count++;
    return entry;
}

static void leave(struct entry *entry)
{
    switch (entry->state) {
    case IDLE: idle_count--; break;
    case NEWS: TAILQ_REMOVE(&news, entry, of_state); break;
    case BUSY: TAILQ_REMOVE(&busy, entry, of_state); break;
    case TOLD: told_count--; break;
    }
}

static void enter(struct entry *entry, enum state state)
{
    leave(entry);
    entry->state = state;
    switch (state) {
    case IDLE: idle_count++; break;
    case NEWS: TAILQ_INSERT_TAIL(&news, entry, of_state); break;
    case BUSY: TAILQ_INSERT_TAIL(&busy, entry, of_state); break;
    case TOLD: told_count++; break;
    }
}

static void unwatch(struct entry *entry)
{
    if (entry->watch < 0)
        return;
    struct entry *other;
    HASH_DELETE(hh_watch, watched, entry);
    HASH_FIND(hh_watch, watched, &entry->watch, sizeof entry->watch, other);
    if (other == NULL)
        watch_end(entry->watch);
    entry->watch = -1;
}

/* Watches the file NAME.json itself. Names that are links of one file share one watch. */
static void watch(struct entry *entry)
{
    if (entry->watch >= 0)
        return;
    entry->watch = watch_file(entry->name);
    if (entry->watch >= 0)
        HASH_ADD(hh_watch, watched, watch, sizeof entry->watch, entry);
}

/* Keeps up to IDLE_MAX idle entries, so that NAME.json need not be read again when only NAME.tid
 * changes. */
static void go_idle(struct entry *entry)
{
    content_close(&entry->json);
    content_close(&entry->tid);
    unwatch(entry);
    entry->again = entry->written = entry->whole = entry->asked = entry->sought = false;
    entry->pause = entry->one_name_by = 0;
    enter(entry, IDLE);
    if (total <= IDLE_MAX || entry->owed != NULL)
        return;
    leave(entry);
    HASH_DEL(entries, entry);
    total--;
    free(entry);
}

/* ---- hints ---- */

static void tell_news(struct entry *entry)
{
    if (entry->again)
        return;
    entry->again = true;
    paragraph_add(messages_begin("news"), "name", entry->name);
    messages_end();
}

/* Notes an event. The kernel sends the event for the closing of a file first, and gives up the
 * write access after that (__fput), without another event. If the reader looks between the two, it
 * finds a writer. So each event starts a new series of looks, however long the name has been
 * busy. */
static void hint(struct entry *entry, enum hint hint)
{
    entry->written |= hint == HINT_CHANGED;
    entry->pause = 0;
    if (entry->state == TOLD)
        tell_news(entry);
    else if (entry->state != NEWS)
        enter(entry, NEWS);
}

void entry_hint(const char *name, enum hint what)
{
    hint(find_or_make(name), what);
}

bool entry_hint_watch(int watch)
{
    struct entry *entry, *next;
    bool any = false;
    for (entry = watched; entry != NULL; entry = next) {
        next = entry->hh_watch.next;
        if (entry->watch != watch)
            continue;
        unwatch(entry); /* another look may set the watch again */
        hint(entry, HINT_CHANGED);
        any = true;
    }
    return any;
}

/* ---- looking ---- */

/* True for an empty file that was only just created: its creator will write and close the file.
 * While open(2) creates a file, there is a moment at which the kernel has sent the event, but does
 * not yet count the creator as a writer. At this moment a read lease succeeds, so the lease does
 * not find the writer. */
static bool is_unwritten(const struct entry *entry, const struct file *file,
                         const struct content *content)
{
    return !entry->written && file->state == FILE_READ && content->length == 0 &&
           !content->has_two_names;
}

static void set_bad(const struct entry *entry, struct file *json, const char *reason)
{
    json->state = FILE_BAD;
    snprintf(json->reason, sizeof json->reason, "%s.json: %.440s", entry->name, reason);
}

/* A file of the user may name a thread by the inode of its pidfd, beside its id in a container.
 * Sets *thread to the id of this thread outside the container, which the broker uses. If the thread
 * is not found, *unseen gets the id in the container, and *thread gets TID_MAX, an id that no
 * thread has. */
static void translate(uint64_t inode, pid_t *thread, pid_t *unseen)
{
    if (inode == 0)
        return;
    const pid_t here = namespaces_translate(inode);
    *unseen = here == 0 ? *thread : 0;
    *thread = here == 0 ? TID_MAX : here;
}

/* False: a NAME.tid stands beside a program file. The rules of a program file say which threads are
 * attached, so NAME.tid cannot stand beside it. */
static bool stands_alone(const struct entry *entry, const struct snapshot *snapshot, char *reason)
{
    if (snapshot->tid.state == FILE_ABSENT)
        return true;
    snprintf(
        reason, REASON_BYTES,
        "the key \"threads\" cannot stand beside the file %s.tid: the rules say which threads are attached; remove %s.tid",
        entry->name, entry->name);
    return false;
}

/* False: there are too many program files. Program files that the broker refuses count, too,
 * because they take the reader's memory. */
static bool has_room(const struct entry *entry, char *reason)
{
    if (programs_have(entry->name) || programs_have_room())
        return true;
    snprintf(reason, REASON_BYTES, "you have %d program files already", PROGRAMS_MAX);
    return false;
}

/* Parses NAME.json as a program file, or else as a spec. Returns the program file; NULL: NAME.json
 * is no program file, or is wrong. */
static struct program_file *parse_json(const struct entry *entry, struct snapshot *snapshot)
{
    char reason[REASON_BYTES];
    struct program_file *file = NULL;
    const char *text = entry->json.text;
    const size_t length = entry->json.length;
    const enum program_parsed parsed = program_parse(text, length, &file, reason);
    if (parsed == PROGRAM_GOOD && stands_alone(entry, snapshot, reason) && has_room(entry, reason))
        return file;
    if (parsed == PROGRAM_NOT && spec_parse(text, length, &snapshot->spec, reason))
        return NULL;
    set_bad(entry, &snapshot->json, reason);
    if (file != NULL) {
        snapshot->spec.token = file->token;
        file->token = NULL;
    }
    program_free(file);
    return NULL;
}

/* Takes a program file, or a wrong file in the place of a program file, whose reservations stay.
 * The broker is told that the file is absent, and is told the program's threads instead
 * (programs.h). */
static void take_program(const struct entry *entry, struct snapshot *snapshot,
                         struct program_file *file)
{
    if (file != NULL) {
        translate(file->process_inode, &file->process, &file->process_unseen);
        programs_take(entry->name, file, &snapshot->json, entry->json.fd);
    } else if (snapshot->json.state != FILE_BAD || !programs_keep(entry->name, snapshot)) {
        programs_drop(entry->name);
        return;
    }
    snapshot->json = snapshot->tid = (struct file){.state = FILE_ABSENT};
    spec_free(&snapshot->spec);
    snapshot->spec = (struct spec){0};
}

static void parse_tid(const struct entry *entry, struct snapshot *snapshot)
{
    uint64_t inode = 0;
    if (snapshot->tid.state == FILE_READ &&
        !spec_parse_tid(entry->tid.text, entry->tid.length, &snapshot->thread, &inode)) {
        snapshot->tid.state = FILE_BAD;
        snprintf(snapshot->tid.reason, sizeof snapshot->tid.reason,
                 "%s.tid must hold one thread id in decimal, from 1 to 4194304", entry->name);
    }
    translate(inode, &snapshot->thread, &snapshot->thread_unseen);
}

static void parse(const struct entry *entry, struct snapshot *snapshot)
{
    struct program_file *file =
        snapshot->json.state == FILE_READ ? parse_json(entry, snapshot) : NULL;
    take_program(entry, snapshot, file);
    parse_tid(entry, snapshot);
    translate(snapshot->spec.attach_inode, &snapshot->spec.attach, &snapshot->spec.attach_unseen);
}

/* Tells the broker the files. If a thread may be attached, also sends the descriptor of NAME.json:
 * the attach helper checks the owner of this open file, whatever file has the name by then. */
static void tell(struct entry *entry, const struct snapshot *snapshot)
{
    const bool is_his = snapshot->json.state != FILE_BAD || entry->json.text != NULL;
    const bool names_thread =
        snapshot->spec.attach != 0 || snapshot->tid.state == FILE_READ || entry->whole;
    struct paragraph_output *output = messages_begin("files");
    paragraph_add(output, "name", entry->name);
    snapshot_add(output, snapshot);
    if (names_thread && entry->json.fd >= 0 && is_his)
        messages_end_with(entry->json.fd);
    else
        messages_end();
    entry->told = snapshot->json.state == FILE_READ || snapshot->json.state == FILE_SAME
                      ? snapshot->json.stamp
                      : (struct stamp){0};
}

static void wait_for_writer(struct entry *entry, enum looked looked)
{
    const bool for_ever = looked == LOOKED_UNSEEN;
    content_close(&entry->json);
    content_close(&entry->tid);
    if (looked == LOOKED_BUSY)
        watch(entry); /* the writer may have opened the file by another name */
    entry->pause = entry->pause == 0 ? first_pause : entry->pause * 2;
    if (entry->pause > last_look && (for_ever || entry->watch < 0))
        entry->pause = last_look;
    entry->look_at = entry->pause > last_look ? INT64_MAX : monotonic_now() + entry->pause;
    enter(entry, BUSY);
}

/* True: NAME.json has a second hard link, and the reader still waits for its removal. One more look
 * after the watch is set finds a removal that came before the watch. */
static bool awaits_one_name(struct entry *entry, const struct snapshot *snapshot)
{
    entry->one_name_by = hard_link_awaited(&entry->json, &snapshot->json, entry->one_name_by);
    if (entry->one_name_by <= monotonic_now())
        return false;
    entry->look_at = entry->one_name_by;
    const bool was_watched = entry->watch >= 0;
    watch(entry);
    content_close(&entry->json);
    enter(entry, was_watched || entry->watch < 0 ? BUSY : NEWS);
    return true;
}

static void settle_told(struct entry *entry, struct snapshot *snapshot)
{
    entry->again = entry->written = entry->asked = false;
    entry->pause = entry->one_name_by = 0;
    enter(entry, TOLD);
    tell(entry, snapshot);
    entry->whole = false;
    spec_free(&snapshot->spec);
}

/* True: NAME+TID waits until the threads of the program file NAME are known, or until NAME.json is
 * known to be no program file. */
static bool awaits_program(struct entry *entry)
{
    char name[NAME_BYTES];
    const size_t length = reservation_name_of_program(entry->name);
    memcpy(name, entry->name, length);
    name[length] = '\0';
    const struct entry *of = find_or_make(name);
    const bool is_pending = of->state == NEWS || of->state == BUSY;
    if (!is_pending && entry->sought)
        return false;
    entry->sought = true;
    entry->look_at = INT64_MAX;
    enter(entry, BUSY);
    if (!is_pending)
        entry_hint(name, HINT_CHANGED);
    return true;
}

/* Looks at NAME+TID. There is no file of this name, so programs.c makes the state that the broker
 * is told. */
static void look_at_thread(struct entry *entry)
{
    struct snapshot snapshot;
    content_close(&entry->json);
    const enum program_look looked = programs_look(entry->name, &snapshot, &entry->json);
    if (looked == PROGRAM_LATER) {
        entry->look_at = INT64_MAX;
        enter(entry, BUSY);
    } else if (looked == PROGRAM_SEEN || !awaits_program(entry))
        settle_told(entry, &snapshot);
}

static bool is_of_program(const struct entry *entry)
{
    return reservation_name_of_program(entry->name) != 0;
}

/* Looks at the names NAME+TID that wait for this program file NAME. */
static void look_at_waiting(const char *name)
{
    struct entry *entry, *next;
    const size_t length = strlen(name);
    for (entry = TAILQ_FIRST(&busy); entry != NULL; entry = next) {
        next = TAILQ_NEXT(entry, of_state);
        if (is_of_program(entry) && reservation_name_of_program(entry->name) == length &&
            memcmp(entry->name, name, length) == 0)
            enter(entry, NEWS);
    }
}

static void hear_of_thread(const char *name)
{
    entry_hint(name, HINT_CHANGED);
}

void entries_begin(void)
{
    programs_begin(hear_of_thread, look_at_waiting);
}

static void look(struct entry *entry)
{
    struct snapshot snapshot = {0};
    const struct stamp *known = entry->whole || entry->told.inode == 0 ? NULL : &entry->told;
    content_close(&entry->json);
    enum looked looked = file_look(entry->name, ".json", known, &snapshot.json, &entry->json);
    if (looked == LOOKED_DONE && awaits_one_name(entry, &snapshot))
        return;
    if (looked == LOOKED_DONE && is_unwritten(entry, &snapshot.json, &entry->json)) {
        go_idle(entry);
        return;
    }
    content_close(&entry->tid);
    if (looked == LOOKED_DONE)
        looked = file_look(entry->name, ".tid", NULL, &snapshot.tid, &entry->tid);
    if (looked != LOOKED_DONE) {
        wait_for_writer(entry, looked);
        return;
    }
    if (is_unwritten(entry, &snapshot.tid, &entry->tid)) {
        content_close(&entry->tid);
        snapshot.tid = (struct file){.state = FILE_ABSENT};
    }
    unwatch(entry);
    refuse_two_names(entry->name, &entry->json, &snapshot.json);
    parse(entry, &snapshot);
    settle_told(entry, &snapshot);
    if (!programs_have(entry->name))
        look_at_waiting(entry->name);
}

void entries_join_scan(void (*tell_seen)(const char *name))
{
    struct entry *entry, *next;
    struct stamp stamp;
    for (entry = TAILQ_FIRST(&news); entry != NULL; entry = next) {
        next = TAILQ_NEXT(entry, of_state);
        if (entry->asked || !file_stamp(entry->name, ".json", &stamp))
            /* The broker has asked for this name already; or NAME.json does not exist, and the
             * broker may know of its removal. */
            continue;
        tell_seen(entry->name);
        go_idle(entry);
    }
}

void entries_take_turn(void)
{
    struct entry *entry;
    while (told_count < TOLD_MAX && (entry = TAILQ_FIRST(&news)) != NULL) {
        if (is_of_program(entry))
            look_at_thread(entry);
        else
            look(entry);
    }
}

/* ---- what the broker says ---- */

void entry_look(const char *name, bool whole)
{
    struct entry *entry = find_or_make(name);
    entry->whole |= whole;
    entry->asked = true;
    if (entry->state == TOLD)
        entry->again = true; /* the news is newer than the request */
    else
        entry->written = true;
    if (entry->state == IDLE || entry->state == BUSY)
        enter(entry, NEWS);
}

static void settle(struct entry *entry)
{
    if (!entry->again) {
        go_idle(entry);
        return;
    }
    entry->again = false;
    entry->written = true;
    enter(entry, NEWS);
}

void entry_done(const char *name)
{
    struct entry *entry = find(name);
    if (entry == NULL || entry->state != TOLD)
        return;
    if (is_of_program(entry))
        programs_done(name);
    settle(entry);
}

/* ---- verdicts ---- */

/* Takes a verdict about NAME+TID, which becomes a row of NAME.verdict: there is no
 * NAME+TID.verdict. */
static void take_verdict_of_thread(struct entry *entry, const struct verdict *verdict)
{
    const bool answers = entry->state == TOLD && verdict->answers;
    programs_verdict(entry->name, verdict->text, verdict->length, answers);
    kept_verdict(entry->name, verdict->text, verdict->length - 1); /* without the newline */
    if (answers)
        settle(entry);
    else if (entry->state == IDLE)
        go_idle(entry);
}

void entry_verdict(const char *name, const struct verdict *verdict)
{
    struct entry *entry = find_or_make(name);
    if (is_of_program(entry)) {
        take_verdict_of_thread(entry, verdict);
        return;
    }
    const bool was_owed = entry->owed != NULL;
    const int error = verdict_put(name, verdict->text, verdict->length, verdict->decided);
    owed_forget(&entry->owed); /* an unwritten verdict is obsolete now */
    if (error != 0)
        owed_add(&entry->owed, entry->name, verdict, error);
    else if (was_owed)
        file_touch(name);
    if (entry->state == TOLD && verdict->answers && verdict->more)
        content_close(&entry->json);
    else if (entry->state == TOLD && verdict->answers)
        settle(entry);
    else if (entry->state == IDLE)
        go_idle(entry);
    kept_verdict(name, verdict->text, verdict->length - 1); /* without the newline */
}

void entry_no_verdict(const char *name)
{
    struct entry *entry = find(name);
    if (entry != NULL)
        owed_forget(&entry->owed);
}

/* ---- time ---- */

int64_t entries_deadline(void)
{
    const struct entry *entry;
    int64_t earliest = owed_deadline();
    TAILQ_FOREACH (entry, &busy, of_state)
        if (entry->look_at < earliest)
            earliest = entry->look_at;
    return earliest;
}

void entries_expire(int64_t now)
{
    struct entry *entry, *next;
    for (entry = TAILQ_FIRST(&busy); entry != NULL; entry = next) {
        next = TAILQ_NEXT(entry, of_state);
        if (entry->look_at <= now)
            enter(entry, NEWS);
    }
    owed_try(now);
}

bool entries_are_idle(void)
{
    return idle_count == total && !owed_any();
}
