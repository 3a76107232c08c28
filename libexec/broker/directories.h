/* Users' directories: whose they are, who may have one, and what stands in the wrong place. */
#ifndef RTF_DIRECTORIES_H
#define RTF_DIRECTORIES_H

#include "names.h"
#include "spool.h"

/* Something of this name appeared in specs/ or changed. */
void directory_appeared(const char *name);
void directory_gone(const char *name);

/* The account is known now: its directories are adopted, moved aside or left alone. */
void directories_of(struct account *account);

/* Looks at everything anew: at the start and when events were lost. */
void directories_rescan(void);

/* While held, directories are adopted but their wishes are not looked at: recover.c comes first. */
void directories_hold(bool hold);

/* Files that were busy are looked at again. */
int64_t directories_deadline(void);
void directories_expire(int64_t now);

void spool_event(const struct spool_event *event);

#endif
