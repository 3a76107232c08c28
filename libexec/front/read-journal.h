/* Reads the reservations of all users from the broker's journal, for root. Root does not enter the
 * directory of a user, because its owner can make a process wait there without end. The journal is
 * in state/current, where only root can write. broker/reservations/journal.h describes its records.
 *
 * The journal does not record why a request was refused. */
#ifndef RTF_READ_JOURNAL_H
#define RTF_READ_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>

struct journal_listener {
    /* A reservation exists, or has changed. The verdict has the keys of rtf-verdict(5) that the
     * journal has: token, result, grant, thread, time; and `lease`, the time at which the
     * reservation's lease ends, ns of CLOCK_BOOTTIME; null: there is no lease. The listener frees
     * the verdict. */
    void (*booked)(const char *user, const char *name, json_t *verdict);
    /* A reservation for which `booked` was called has ended. */
    void (*gone)(const char *user, const char *name);
};

/* Calls the listener for each reservation that has changed since the last call of journal_read; in
 * the first call, for every reservation. Does not call the listener if there is no journal. `root`
 * is the open spool. False with errno EACCES or EPERM: the caller may not read the journal, or the
 * journal does not belong to root. */
bool journal_read(int root, const struct journal_listener *listener);

#endif
