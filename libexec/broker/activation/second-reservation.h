/* Decides whether a thread that shares the runtime of its process ("budget": "process") may have
 * another reservation, of its own.
 *
 * rtf-guard gives all members of the group of a process (lib/process-budget.h) the same policy and
 * priority, and takes these away together. The guard does not change SCHED_DEADLINE threads, so a
 * member can have another reservation only under SCHED_DEADLINE. Without this rule, the broker
 * could take the attributes of one reservation for the former attributes of the thread. The thread
 * would then keep these attributes after the end of both reservations. */
#ifndef RTF_SECOND_RESERVATION_H
#define RTF_SECOND_RESERVATION_H

#include <stdbool.h>

#include "reservation.h"

/* True: the thread may be attached to the reservation. *former: the attributes that the thread gets
 * when it is detached; for a member of a group, those of the first thread before the process was
 * attached. False: `reason` says why not; later the thread may be attached. */
bool second_reservation_allows(const struct reservation *reservation,
                               const struct identity *identity, struct attributes *former,
                               char reason[static REASON_BYTES]);

/* True: the thread shares the runtime of a process that is attached. */
bool second_reservation_is_shared(pid_t tid);

#endif
