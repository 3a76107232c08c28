/* Does the kernel show what was granted? */
#ifndef RTF_DRIFT_H
#define RTF_DRIFT_H

#include "reservation.h"

/* Of a grant whose runtime is enforced by the guard, as the kernel shows the thread: it may be ordinary until its next period. */
enum enforcement { NOT_ENFORCED, IN_FORCE, SUSPENDED };
enum enforcement attachment_enforcement(const struct attachment *attachment, const struct attributes *now);

/* Says so in the log if the thread does not run as granted any more: its owner may change his own thread's affinity, and
 * lower its policy. */
bool has_drifted(const struct reservation *reservation);

#endif
