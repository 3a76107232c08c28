/* Replaces the journal (journal.h) by a new journal, without the records that later records have
 * replaced. */
#ifndef RTF_JOURNAL_REWRITE_H
#define RTF_JOURNAL_REWRITE_H

#include <stdbool.h>

#include "reason.h"

/* False: *reason says why, and the earlier journal stays in force. */
bool journal_rewrite(char reason[static REASON_BYTES]);

/* Call this at the end of each turn. Writes a new journal if later records have replaced most
 * records, or if a record could not be appended. If this fails, tries again a second later. */
void journal_rewrite_if_due(void);

#endif
