/* The register of the brokers that run: by it root's tools find a broker. Any user can have a process of root's with the name of a broker (a link
 * of that name to su), and with descriptors of the user's choice; what is here only root can hold.
 *
 * Each broker has an entry, a file in /run/rtf/brokers, and the file `broker` in its spool's state/. It holds a POSIX lock on both for its life: the kernel says whose
 * that is, and gives it up when the process ends. An entry that nobody locks is a remnant: the next broker and the next look remove it. The broker may not
 * open these files again after register_enter, for a close(2) gives such a lock up. */
#ifndef RTF_REGISTER_H
#define RTF_REGISTER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "run-directory.h"

#define REGISTER RUN_DIRECTORY "/brokers"

struct registered {
    pid_t process; /* as the caller's pid namespace numbers it; 0: it is in none that the caller sees */
    int state; /* the broker's descriptor of the directory of its journal */
    char spool[PATH_MAX], config[PATH_MAX];
};

/* `root` and `lasting` are the spool and its state/. False with errno: there is no entry in one of them. In the process that serves. */
bool register_enter(int root, int lasting, int state, const char *config);

/* Removes remnants, the directory if it is empty, and /run/rtf if it is empty; `ours`: and the entry of register_enter. Not from a FIFO process (contrib/kernels.md). */
void register_tidy(bool ours);

/* Calls `each` for every broker that runs, until it says false. False: it did. */
bool register_each(bool (*each)(const struct registered *broker, void *with), void *with);

/* The broker of this spool. False: there is none, or the spool is not root's. */
bool register_find(const char *spool, struct registered *broker);

/* The lock of something that only one broker of the machine may have, in the register's directory, where no user can take it. `name` begins with a dot. A descriptor,
 * which has the lock while it is open; -1 with errno, EWOULDBLOCK if somebody else has it. register_tidy removes what nobody locks. */
int register_lock(const char *name);

/* It still runs: so its process has been its own since it was found. */
bool register_is_there(const struct registered *broker);

#endif
