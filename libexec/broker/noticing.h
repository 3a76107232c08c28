/* What happens in the spool. Events are hints, the directories are the truth. */
#ifndef RTF_NOTICING_H
#define RTF_NOTICING_H

#include "files.h"
#include "wish.h"

/* Whenever events are taken from the kernel, `noise` is told first how many of a user's directory there are. */
bool spool_watch(struct source *source, void (*noise)(struct user *user, unsigned events));

/* SPOOL_NOTHING: means nothing, but took its time. */
enum spool_event_kind { SPOOL_DIRECTORY, SPOOL_WISH, SPOOL_OTHER_NAME, SPOOL_NOTHING, SPOOL_OVERFLOW };

struct spool_event {
    enum spool_event_kind kind;
    char name[256];     /* DIRECTORY: something of this name in specs/ came, went or changed; OTHER_NAME; WISH: the wish's, without
                         * its ending */
    struct user *user;  /* WISH, OTHER_NAME, NOTHING */
    struct wish *wish;  /* WISH: set when a writer closed a file that was found busy; else NULL */
    bool newborn;       /* WISH: if there is an empty file, open(2) may not have got to its writing yet */
    bool of_tid;        /* WISH: it is its NAME.tid that this is about */
    unsigned closed;    /* WISH: a writer has closed this one; OF_JSON or OF_TID, or neither */
};

/* The next event; false when there is none for now. A file may be awaited under several names (hard links):
 * each gets its event. */
bool spool_next(struct spool_event *event);

/* ---- directories ---- */

/* Whatever happens in its directory is no event until it is watched again. False: it cannot be. */
void spool_user_unwatch(struct user *user);
bool spool_user_watch(struct user *user);

/* What happens there is, or will be, an event; or, if events are lost, a scan comes after it. */
bool spool_user_is_watched(const struct user *user);

/* And what happened before has been looked at. */
bool spool_user_is_heard(const struct user *user);

/* At least it will be found by a scan. */
bool spool_user_is_followed(const struct user *user);

/* ---- files that are waited for ---- */

/* The file is BUSY, a writer has it open: its closing will be a SPOOL_WISH event of `wish`. Or it is UNSEEN: it will be looked
 * at until it is not. */
void spool_watch_busy(struct wish *wish, const char *ending, enum file_state state);
void spool_forget_busy(struct wish *wish);

/* The wish itself is going. */
void spool_forget(struct wish *wish);

/* A link to NAME.json that comes or goes elsewhere changes its stamp without an event of the directory: the
 * file itself is watched. False: its stamp is not wish->judged any more. */
bool spool_watch_links(struct wish *wish);

/* The kernel tells of a close before it has taken the writer's right away, so a file may look busy to whoever
 * comes at once, with no event to follow. Such a wish is looked at again after 1, 2, 4 ... 512 ms; then only
 * an event counts, or each 512 ms does, if there can be none. The earliest time, and the next wish that is due, once. */
int64_t spool_busy_deadline(void);
struct wish *spool_busy_due(int64_t now);

/* It waits for a file, and an event will tell. */
bool spool_is_watched(const struct wish *wish);

#endif
