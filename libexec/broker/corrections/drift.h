/* Compares the scheduling attributes of a thread in the kernel with its grant. */
#ifndef RTF_DRIFT_H
#define RTF_DRIFT_H

#include "reservation.h"

/* The state of a thread whose runtime the guard enforces. SUSPENDED: the kernel shows an ordinary
 * thread until its next period. */
enum enforcement { NOT_ENFORCED, IN_FORCE, SUSPENDED };
enum enforcement attachment_enforcement(const struct attachment *attachment,
                                        const struct attributes *now);

/* The thread does not run as granted any more; the log says so. An owner may change the affinity of
 * their own thread, and lower its policy. */
bool has_drifted(const struct reservation *reservation);

#endif
