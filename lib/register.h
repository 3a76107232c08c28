/* The register lists the running brokers, so that root's tools find a broker. A process's name and
 * open files do not prove that the process is a broker: any user can start a root process with a
 * broker's name (through a link to su) and with descriptors of the user's choice. Only root can
 * write the register.
 *
 * Each broker has an entry: a file in /run/rtf/brokers, and the file `broker` in its spool's
 * state/. The broker holds a POSIX lock on both files for its lifetime. The kernel tells which
 * process holds a lock, and releases the lock when the process ends. An entry without a lock is
 * stale: the next broker or the next register_tidy removes it. After register_enter the broker must
 * not open these files again, because close(2) of any descriptor of a file releases the POSIX lock
 * of the process. */
#ifndef RTF_REGISTER_H
#define RTF_REGISTER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "run-directory.h"

#define REGISTER RUN_DIRECTORY "/brokers"

struct registered {
    /* the broker's id in the caller's pid namespace; 0: the broker has no id in this namespace */
    pid_t process;
    int state; /* the number of the broker's descriptor of the directory of its journal */
    char spool[PATH_MAX], config[PATH_MAX];
};

/* Makes the calling process's entry. root, lasting: descriptors of the spool and of the spool's
 * directory state/. False with errno: one of the two files could not be made. Call this in the
 * process that serves requests, because the locks belong to the calling process. */
bool register_enter(int root, int lasting, int state, const char *config);

/* Removes stale entries, and the directories of the register and /run/rtf if they are empty. ours =
 * true: also removes the entry that register_enter made. Do not call this from a SCHED_FIFO thread:
 * the call may never return (contrib/kernels.md). */
void register_tidy(bool ours);

/* Calls `each` for every running broker. If `each` returns false, stops and returns false. */
bool register_each(bool (*each)(const struct registered *broker, void *with), void *with);

/* Finds the broker of this spool. False: no broker runs, or the spool does not belong to root. */
bool register_find(const char *spool, struct registered *broker);

/* Takes a lock that only one broker of the machine can hold, in the register's directory, which no
 * user can write. name: begins with a dot. Returns a descriptor that holds the lock while it is
 * open; -1 with errno, EWOULDBLOCK if another process holds the lock. register_tidy removes
 * unlocked files. */
int register_lock(const char *name);

/* True if the broker still runs. Then no other process has got its id since register_find or
 * register_each filled *broker. */
bool register_is_there(const struct registered *broker);

#endif
