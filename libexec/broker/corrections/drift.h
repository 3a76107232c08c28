/* Compares the scheduling attributes of a thread in the kernel with its grant. */
#ifndef RTF_DRIFT_H
#define RTF_DRIFT_H

#include "reservation.h"

/* Does the guard enforce the thread's runtime? SUSPENDED: the guard has made the thread ordinary
 * until its next period. */
enum enforcement { NOT_ENFORCED, IN_FORCE, SUSPENDED };
enum enforcement attachment_enforcement(const struct attachment *attachment,
                                        const struct attributes *now);

/* True: the thread does not run as granted any more, and the log has a warning. An owner can cause
 * this by changing the CPUs (affinity) or lowering the policy of their own thread. */
bool has_drifted(const struct reservation *reservation);

#endif
