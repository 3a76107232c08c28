/* Looks through users' directories for what no event has told: when a directory is adopted, after a flood, after a SIGHUP,
 * when events were lost. Some names in each turn: somebody's 100,000 files keep nobody else waiting. */
#ifndef RTF_SCANS_H
#define RTF_SCANS_H

#include "wish.h"

/* All that is new or has changed, and what is missing, will be looked at in turn. */
void scan_begin(struct user *user);

/* At the start: all directories of which scan_begin was called are looked through at once, and what is found will be looked
 * at in the order in which it came, whosever it is: what was first is asked first. */
void scans_finish(void);

/* The directory is about to be closed. */
void scan_forget(const struct user *user);

bool scans_are_due(void);
void scans_take_turn(void);

/* Nothing of it has to be looked at: its file is the one that was answered (*json is what is there now), and nothing else of it has
 * been told of or is under way. */
bool wish_is_as_it_was(const struct wish *wish, struct stamp *json);

/* A name that cannot be a wish's, found or told of by an event. */
void report_name(struct user *user, const char *name);

#endif
