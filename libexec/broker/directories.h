/* Users' directories: whose they are, who may have one, and what stands in the wrong place. */
#ifndef RTF_DIRECTORIES_H
#define RTF_DIRECTORIES_H

#include "names.h"
#include "noticing.h"

/* The account is known now: its directories are adopted, moved aside or left alone. */
void directories_of(struct account *account);

/* Everything will be looked at anew, in turn: after a SIGHUP and when events were lost. */
void directories_rescan(void);

/* All of that at once, at the start; what is found is asked in the order of its times. */
void directories_finish(void);

/* It could not be watched or listed: it will be looked through after so many ns. */
void directory_again(struct user *user, int64_t after);

/* Looks at a few of the names and directories that wait for it. */
bool directories_are_due(void);
void directories_take_turn(void);

/* While held, directories are adopted but their wishes are not looked at: recover.c comes first. */
void directories_hold(bool hold);

/* Files that were busy are looked at again. */
int64_t directories_deadline(void);
void directories_expire(int64_t now);

void spool_event(const struct spool_event *event);

/* So many events of a directory are about to be told: too many, and none of them is. */
void directories_noise(struct user *user, unsigned events);

#endif
