/* The register of the running brokers, by which root's tools find a broker. Process names and open
 * files would not prove a broker: any user can start a root process with a broker's name (through a
 * link to su) and with descriptors of the user's choice; only root can write the register.
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
    pid_t process; /* its id in the caller's pid namespace; 0: it has no id there */
    int state;     /* the broker's descriptor of its journal's directory */
    char spool[PATH_MAX], config[PATH_MAX];
};

/* Makes the calling process's entry. root, lasting: descriptors of the spool and of its state/.
 * False with errno: one of the two files could not be made. Call this in the process that
 * serves. */
bool register_enter(int root, int lasting, int state, const char *config);

/* Removes stale entries, and the directories of the register and /run/rtf if they are empty. ours:
 * also remove the entry that register_enter made. Do not call this from a SCHED_FIFO thread: the
 * call may never return (contrib/kernels.md). */
void register_tidy(bool ours);

/* Calls `each` for every running broker, until `each` returns false. Returns false in that case. */
bool register_each(bool (*each)(const struct registered *broker, void *with), void *with);

/* Finds the broker of this spool. False: no broker runs, or the spool does not belong to root. */
bool register_find(const char *spool, struct registered *broker);

/* Takes a lock that only one broker of the machine can hold, in the register's directory, which no
 * user can write. name: begins with a dot. Returns a descriptor that holds the lock while it is
 * open; -1 with errno, EWOULDBLOCK if another process holds the lock. register_tidy removes
 * unlocked files. */
int register_lock(const char *name);

/* True if the broker still runs. Then its process id has not been reused since register_find or
 * register_each filled *broker. */
bool register_is_there(const struct registered *broker);

#endif
