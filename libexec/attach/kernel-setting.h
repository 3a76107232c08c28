/* Settings of the whole kernel that plugins.conf(5) asks for, and that get their former values back
 * when no broker needs the change any more:
 *
 *     SETTING_RT_LIMIT  sched_rt_runtime_us, the kernel's limit for all real-time threads of the
 *                       machine, in us per sched_rt_period_us: -1 (no limit) for
 *                       partition=unthrottled
 *     SETTING_HRTICK    the scheduler's feature HRTICK_DL, on for hrtick=on: a timer, and not the
 *                       tick, ends the runtimes of SCHED_DEADLINE threads
 *
 * A record for each setting has the former value and the brokers that need the setting changed. Its
 * lines are boot=, former= and, for each broker, by= with the path of the broker's spool. The
 * record is written before the setting is changed, so that the former value is never lost. A killed
 * broker stays in the record, because its threads are still attached and need the setting, until a
 * broker serves its spool again, rtf-brokerd --put-back is called for the spool, or the spool is
 * removed. */
#ifndef RTF_KERNEL_SETTING_H
#define RTF_KERNEL_SETTING_H

#include <stdbool.h>

#include "run-directory.h"

enum which_setting { SETTING_RT_LIMIT, SETTING_HRTICK, SETTINGS };

#define RT_LIMIT_RECORD RUN_DIRECTORY "/throttle"
#define HRTICK_RECORD   RUN_DIRECTORY "/hrtick"

static inline const char *setting_record(int which)
{
    static const char *const files[] = {RT_LIMIT_RECORD, HRTICK_RECORD};
    return files[which];
}

enum { SETTING_REASON = 400 };

struct kernel_setting {
    const char *file, *record;
    const char *wanted; /* the value that brokers ask for */
    /* NULL: the file has only the value. Else the file has a word for each feature of the
     * scheduler, and the value is the word for this feature: its name (on), or NO_ and its name
     * (off). */
    const char *feature;
    int fd; /* the open file; -1 with open_error */
    int open_error;
};

/* Opens the files of all settings. Call this before Landlock rules are set: a rule for a file holds
 * for the file's inode, and the kernel may give the file of a setting a new inode. */
void settings_open(void);
struct kernel_setting *setting_of(enum which_setting which);

/* Opens setting->file. */
void setting_open(struct kernel_setting *setting);

/* setting_take changes the setting for the broker of the spool `by` (a path, printable ASCII).
 * setting_restore says that this broker no longer needs the change. Calling either function twice
 * does no harm. False: *reason says why. The kernel refuses a limit (EBUSY) while it still counts
 * SCHED_DEADLINE threads that have just ended, at most until the end of their periods: call again
 * after EBUSY. */
bool setting_take(const struct kernel_setting *setting, const char *by,
                  char reason[static SETTING_REASON]);
bool setting_restore(const struct kernel_setting *setting, const char *by,
                     char reason[static SETTING_REASON]);

#endif
