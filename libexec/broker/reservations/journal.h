/* The journal, state/current/journal, from which the next broker learns after a crash what is in
 * force. The broker appends a record before and after each change that the next broker must know. A
 * record is a paragraph (lib/paragraph.h). Only the last record of a reservation counts. A record
 * that is incomplete after a crash or on a full disk does not count.
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
 * When the journal has grown, the broker writes a new journal, journal.new, and renames it to
 * journal when it is whole. So a crash at any point leaves either the former journal or the new
 * journal, and each of them is whole. seccomp allows the broker no other rename.
 *
 * The broker does not call fsync(2), because a SIGKILL loses nothing that was written, and because
 * a reboot ends all grants. */
#ifndef RTF_JOURNAL_H
#define RTF_JOURNAL_H

#include "reservation.h"

#define NO_PLUGIN_NAME "-"

/* Increase this number when you change the records in a way that earlier versions of the broker
 * would misread. Then an earlier version refuses to start with the journal. */
enum { JOURNAL_FORMAT = 1 };

/* The content of a reservation's last record. */
struct recorded_reservation {
    char user[NAME_BYTES], name[NAME_BYTES], token[TOKEN_BYTES], plugin[PLUGIN_NAME_BYTES];
    uint64_t task;
    int64_t time; /* CLOCK_REALTIME, ns */
    /* CLOCK_BOOTTIME, ns: the end of the lease, and the begin of the wait for room; 0: no lease, no
     * wait */
    int64_t lease, waits;
    struct stamp judged, judged_tid;
    bool granted;
    struct grant grant;
    bool attached, by_file, laid_down;
    enum ended ended; /* the reservation has no grant, and its spec is being removed */
    /* the thread belongs to no reservation any more, and gets its former attributes back
     * (orphans.c) */
    bool orphan;
    pid_t tid, process;
    uint64_t started_by;
    struct attributes former;
    struct former_lock former_lock;
    /* bytes: the limit of locked memory that the process was given; 0: no limit yet */
    uint64_t given_lock;
    int former_ioprio; /* -1: the record has no former_ioprio= */
    char *group;       /* the former cpuset group of the thread; NULL: the record has no group */
    uint64_t class;    /* the class of the reservation's shares (shares.h); 0: no class */
    /* the claims on resources other than CPU time; claim.plugin: the plugin that granted the
     * claim */
    struct claim *claims;
};

struct recorded_state {
    bool same_boot, left_in_force;
    struct recorded_reservation *reservations; /* in the order of their first records */
    int count, room;
};

/* Reads the journal. False: the journal is damaged, or another user than root may have written it;
 * *reason says which. */
bool journal_read(struct recorded_state *state, char reason[static REASON_BYTES]);
void journal_free(struct recorded_state *state);

/* journal_begin begins a new journal, and journal_commit puts it in the place of the former
 * journal. False: *reason says why. */
bool journal_begin(char reason[static REASON_BYTES]);
bool journal_commit(char reason[static REASON_BYTES]);

/* Ends a new journal without journal_commit: the former journal stays. */
void journal_abandon(void);

/* Makes the journal empty. Call this when no grant is in force, so that the next broker needs no
 * record. */
void journal_clear(void);

/* Each function appends one record. False with errno: no record was appended. */
bool journal_reservation(const struct reservation *reservation);
bool journal_gone(const struct reservation *reservation);
bool journal_left(void);

/* True: a record could not be appended. The caller should try to write a new journal until a try
 * succeeds. */
bool journal_is_behind(void);

/* True: later records have replaced most records of the journal. The caller should write a new
 * journal. */
bool journal_is_bloated(void);

#endif
