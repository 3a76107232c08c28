/* Settings of the whole kernel that plugins.conf(5) asks for, and that get their former value when
 * no broker needs them any more:
 *
 *     SETTING_RT_LIMIT  sched_rt_runtime_us, the kernel's limit for all real-time threads of the
 *                       machine, in us per sched_rt_period_us: -1 (no limit) for
 *                       partition=unthrottled
 *     SETTING_HRTICK    the scheduler's feature HRTICK_DL: a timer ends the runtimes of
 *                       SCHED_DEADLINE threads, not the tick: on for hrtick=on
 *
 * A record for each setting has the former value and the brokers that need the setting changed:
 * lines boot=, former= and, one for each spool, by=. The record is written before the setting. A
 * killed broker stays in the record until its spool is served again, is given back or is
 * removed, because its threads are still attached and need the setting. */
#ifndef RTF_KERNEL_SETTING_H
#define RTF_KERNEL_SETTING_H

#include <stdbool.h>

#include "run-directory.h"

enum which_setting { SETTING_RT_LIMIT, SETTING_HRTICK, SETTINGS };

static inline const char *setting_record(int which)
{
    static const char *const files[] = {RUN_DIRECTORY "/throttle", RUN_DIRECTORY "/hrtick"};
    return files[which];
}

enum { SETTING_REASON = 400 };

struct kernel_setting {
    const char *file, *record;
    const char *wanted; /* the value that brokers ask for */
    /* NULL: the file has the value. Else the file has a word for each feature of the scheduler, and
     * the value of this one is its name, or NO_ and its name. */
    const char *feature;
    int fd; /* the open file; -1 with open_error */
    int open_error;
};

/* Opens the files. To be called before Landlock rules are set: a rule for a file holds for its
 * inode, and the kernel may make the inode of a setting anew. */
void settings_open(void);
struct kernel_setting *setting_of(enum which_setting which);

/* Opens setting->file. */
void setting_open(struct kernel_setting *setting);

/* Change the setting for `by`, the path of a spool (printable ASCII), and end that again. Calling
 * either twice does no harm. False: *reason. The kernel refuses a limit (EBUSY) while it still
 * counts SCHED_DEADLINE threads that have just ended, until the end of their periods at most:
 * then call again. */
bool setting_take(const struct kernel_setting *setting, const char *by,
                  char reason[static SETTING_REASON]);
bool setting_restore(const struct kernel_setting *setting, const char *by,
                     char reason[static SETTING_REASON]);

#endif
