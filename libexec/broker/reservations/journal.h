/* The journal, state/current/journal: the next broker needs it to go on after a crash. The broker
 * appends a record before and after each step that must not be forgotten. A record is a paragraph
 * (lib/paragraph.h). The last record of a reservation counts. A record that a crash or a full disk
 * cut short does not count.
 *
 *   record=boot    boot= the kernel's boot id: the broker never changes a thread of another boot; format= JOURNAL_FORMAT
 *   record=whole   the records before this one say all that was in force when this journal was begun
 *   record=left    the broker ended by SIGINT and left everything in force
 *   record=reservation    user= name= task= time=; and if they exist:
 *                  judged= judged_tid= lease= waits= token=
 *                  ending=, an enum ended: the reservation has no grant, and its spec is being removed
 *                  the grant; plugin=- if the grant has no CPU time; RESOURCE_plugin= and more for each claim on another resource
 *                  the attached thread and its former attributes; pending=1: the thread sleeps, and is attached when it wakes;
 *                  former_ioprio=, as ioprio_get(2) returns it, if enforce=ioprio raises the thread's I/O priority
 *   record=gone    user= name= task=
 *
 * A journal that has grown is written anew, as journal.new, and renamed over the former one when it
 * is whole. So the file journal is always whole, and a crash at any point leaves the former journal
 * or the new one. seccomp allows the broker this rename and no other.
 *
 * The broker does not call fsync(2): a SIGKILL loses nothing that was written, and a reboot ends
 * all that was in force. */
#ifndef RTF_JOURNAL_H
#define RTF_JOURNAL_H

#include "reservation.h"

#define NO_PLUGIN_NAME "-"

/* A change of the records that an earlier broker would misread gets the next number. That broker
 * then refuses to start. */
enum { JOURNAL_FORMAT = 1 };

/* A reservation as the journal has it. */
struct recorded_reservation {
    char user[NAME_BYTES], name[NAME_BYTES], token[TOKEN_BYTES], plugin[PLUGIN_NAME_BYTES];
    uint64_t task;
    int64_t time;         /* CLOCK_REALTIME, ns */
    int64_t lease, waits; /* CLOCK_BOOTTIME, ns; 0: none */
    struct stamp judged, judged_tid;
    bool granted;
    struct grant grant;
    bool attached, by_file, laid_down;
    enum ended ended; /* the reservation has no grant, and its spec is being removed */
    /* recover.c: its thread has no reservation any more, and gets its former attributes back */
    bool orphan;
    pid_t tid, process;
    uint64_t started_by;
    struct attributes former;
    struct former_lock former_lock;
    uint64_t given_lock;  /* bytes: the process was given so much; 0: nothing yet */
    int former_ioprio;    /* -1: none */
    char *group;          /* NULL */
    uint64_t class;       /* of its shares (shares.h); 0: none */
    struct claim *claims; /* on other resources; claim.plugin: the plugin that granted the claim */
};

struct recorded_state {
    bool same_boot, left_in_force;
    struct recorded_reservation *reservations; /* in the order of their first records */
    int count, room;
};

/* Reads the journal. Refuses a journal that is damaged, or that a user can have written. False:
 * *reason. */
bool journal_read(struct recorded_state *state, char reason[static REASON_BYTES]);
void journal_free(struct recorded_state *state);

/* Begins a new journal. The new journal is in force when journal_commit has succeeded. False:
 * *reason. */
bool journal_begin(char reason[static REASON_BYTES]);
bool journal_commit(char reason[static REASON_BYTES]);

/* Instead of journal_commit: the former journal stays in force. */
void journal_abandon(void);

/* Makes the journal empty, when nothing is in force and the next broker needs nothing. */
void journal_clear(void);

/* Each function appends one record. False with errno: nothing was appended. */
bool journal_reservation(const struct reservation *reservation);
bool journal_gone(const struct reservation *reservation);
bool journal_left(void);

/* A record could not be appended. The caller should write the journal anew until this succeeds. */
bool journal_is_behind(void);

/* Most records of the journal are superseded. The caller should write the journal anew. */
bool journal_is_bloated(void);

#endif
