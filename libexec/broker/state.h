/* The journal, state/current/journal: what the broker needs to go on after a crash, appended before and after each step that must
 * not be forgotten. It is made of paragraphs (lib/paragraph.h); the last one about a wish counts, and one that
 * was cut short by a crash or a full disk does not.
 *
 *   record=boot    boot= the kernel's boot id: threads of another boot are never touched
 *   record=kernel  rt_runtime= what sched_rt_runtime_us was before it was set to -1; empty when it was put back
 *   record=left    the broker ended by SIGINT and left everything in force
 *   record=wish    user= name= task= time= and, as they exist: judged=, judged_tid=, token=, the grant, the
 *                  attached thread and its former attributes
 *   record=gone    user= name= task=
 *
 * Nothing here is synced: kill -9 loses nothing that was written, and a reboot voids it all but the wishes. */
#ifndef RTF_STATE_H
#define RTF_STATE_H

#include "wish.h"

/* One wish as it was written down. */
struct recorded_wish {
    char user[NAME_BYTES], name[NAME_BYTES], token[TOKEN_BYTES], plugin[PLUGIN_NAME_BYTES];
    uint64_t task;
    int64_t time; /* CLOCK_REALTIME, ns */
    struct stamp judged, judged_tid;
    bool granted;
    struct grant grant;
    bool attached, by_file, laid_down;
    bool orphan; /* recover.c: nobody answers for its thread any more */
    pid_t tid, process;
    uint64_t started_by;
    struct attributes former;
    char *group; /* NULL */
};

struct recorded_state {
    bool same_boot, left_in_force;
    char rt_runtime[24]; /* "" when it was not changed */
    struct recorded_wish *wishes; /* in the order of their first grant */
    int count;
};

/* Reads the journal of spool.former, or of spool.state. False: *reason. */
bool state_read(struct recorded_state *state, char reason[static REASON_BYTES]);
void state_free(struct recorded_state *state);

/* Starts a journal afresh, written to the side and renamed into place by state_commit. */
bool state_begin(char reason[static REASON_BYTES]);
bool state_commit(char reason[static REASON_BYTES]);

/* Instead of committing: the journal before goes on. */
void state_abandon(void);

/* Each appends one record. False with errno: nothing was appended. */
bool state_wish(const struct wish *wish);
bool state_gone(const struct wish *wish);
bool state_rt_runtime(const char *former);
bool state_left(void);

/* Goes on with the journal that is there, for a record or two. */
bool state_reopen(void);

/* A record could not be appended, and the next one about that wish may be long in coming: the caller should
 * begin, write all and commit, until that succeeds. */
bool state_is_behind(void);

/* The journal has grown to many times what it says: the caller should begin, write all and commit. */
bool state_is_bloated(void);

#endif
