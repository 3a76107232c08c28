/* What is reserved, as the broker's journal says it, for root. A user's directory is not entered: its owner can hold whoever does for as long as the
 * owner likes. The journal lies in state/current, where only root can write; broker/state/state.h says what stands in it.
 *
 * Of a refusal the journal knows that there was one, and not why. */
#ifndef RTF_JOURNAL_H
#define RTF_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>

struct journal_listener {
    /* What its owner was told, with the keys of rtf-verdict(5) that the journal knows: token, result, grant, thread, time. And `lease`, when its lease is
     * over: CLOCK_BOOTTIME, ns; null: it has none. The listener's from here on. */
    void (*booked)(const char *user, const char *name, json_t *verdict);
    void (*gone)(const char *user, const char *name);
};

/* Tells what has changed since the last time, and at first all there is. Nothing where there is no journal. `root` is the open spool. False with errno:
 * the journal may not be read. */
bool journal_read(int root, const struct journal_listener *listener);

#endif
