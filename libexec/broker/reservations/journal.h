/* The journal, state/current/journal: what the broker needs to go on after a crash, appended before and after each step that must
 * not be forgotten. It is made of paragraphs (lib/paragraph.h); the last one about a reservation counts, and one that
 * was cut short by a crash or a full disk does not.
 *
 *   record=boot    boot= the kernel's boot id: threads of another boot are never touched; format= JOURNAL_FORMAT
 *   record=whole   all that was in force when this journal was begun stands before
 *   record=left    the broker ended by SIGINT and left everything in force
 *   record=reservation    user= name= task= time= and, as they exist: judged=, judged_tid=, lease=, waits=, ending= (it has nothing, and its spec is being removed: enum ended says why), token=, the grant (plugin=- where it
 *                  has no CPU time, RESOURCE_plugin= and more for each claim on another resource), the attached thread (pending=1: it sleeps) and its former
 *                  attributes, former_ioprio= among them, as ioprio_get(2) says it, where enforce=ioprio raises it
 *   record=gone    user= name= task=
 *
 * A journal that has grown is written anew, as journal.new, and renamed over the former one when it is whole. So the file journal is always whole,
 * and a crash at any point leaves the former journal or the new one. seccomp allows the broker this rename and no other.
 *
 * Nothing here is synced: kill -9 loses nothing that was written, and a reboot voids it all but the reservations. */
#ifndef RTF_JOURNAL_H
#define RTF_JOURNAL_H

#include "reservation.h"

#define NO_PLUGIN_NAME "-"

/* A change that an earlier broker would misread gets the next number: that broker then refuses to start. */
enum { JOURNAL_FORMAT = 1 };

/* One reservation as it was written down. */
struct recorded_reservation {
    char user[NAME_BYTES], name[NAME_BYTES], token[TOKEN_BYTES], plugin[PLUGIN_NAME_BYTES];
    uint64_t task;
    int64_t time; /* CLOCK_REALTIME, ns */
    int64_t lease, waits; /* CLOCK_BOOTTIME, ns; 0: none */
    struct stamp judged, judged_tid;
    bool granted;
    struct grant grant;
    bool attached, by_file, laid_down;
    enum ended ended; /* it has nothing, and its spec is being removed */
    bool orphan; /* recover.c: nobody answers for its thread any more */
    pid_t tid, process;
    uint64_t started_by;
    struct attributes former;
    int former_ioprio; /* -1: none */
    char *group; /* NULL */
    uint64_t class;       /* of its shares: shares.h; 0: none */
    struct claim *claims; /* on other resources; `plugin` names who granted each */
};

struct recorded_state {
    bool same_boot, left_in_force;
    struct recorded_reservation *reservations; /* in the order of their first grant */
    int count, room;
};

/* Reads the journal. A journal that is damaged, or that somebody but root can have written, is not taken up. False: *reason. */
bool journal_read(struct recorded_state *state, char reason[static REASON_BYTES]);
void journal_free(struct recorded_state *state);

/* Starts a journal anew, which is in force when journal_commit has succeeded. */
bool journal_begin(char reason[static REASON_BYTES]);
bool journal_commit(char reason[static REASON_BYTES]);

/* Instead of committing: the journal before goes on. */
void journal_abandon(void);

/* Nothing is in force, and nothing is to be kept: makes the journal empty. */
void state_clear(void);

/* Each appends one record. False with errno: nothing was appended. */
bool journal_reservation(const struct reservation *reservation);
bool journal_gone(const struct reservation *reservation);
bool journal_left(void);

/* A record could not be appended, and the next one about that reservation may be long in coming: the caller should
 * begin, write all and commit, until that succeeds. */
bool journal_is_behind(void);

/* The journal has grown to many times what it says: the caller should begin, write all and commit. */
bool journal_is_bloated(void);

#endif
