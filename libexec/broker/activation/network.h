/* Reservations of a network, kept by rtf-net, the only program that can: on each line's interface (enforce=htb) a reservation has a class with its
 * rate, and the sockets of its attached thread belong to that. The class is there before the verdict says so; what is given up goes without anybody
 * waiting.
 *
 * A restart changes no class: it stands in the journal. Which interfaces are ours is written down
 * in state/ before the first is touched, so that they are given back even after kill -9. */
#ifndef RTF_NETWORK_H
#define RTF_NETWORK_H

#include "helper.h"
#include "reservation.h"

/* Before the starter is forked: gives back what is ours no more since the last start. */
void network_prepare(char *path, void (*tell)(const struct helper_event *event));

/* After that: false, an interface is not to be had: *reason. No line with enforce=htb: there is nothing to do. */
bool network_start(char reason[static REASON_BYTES]);

/* Of a grant of before: the class that it has had. It is due. */
void network_take_up(struct reservation *reservation, uint16_t class);

/* Once all that was granted before is said again: other classes go. */
void network_settle(void);

/* Interfaces are given back; or it ends, and leaves all as it is. */
void network_end(void);
void network_stop(void);

/* What a broker that is no more has left. False: *reason. Needs all privileges. */
bool network_put_back(const char *path, char reason[static REASON_BYTES]);

/* Has the grant a share of an interface that is kept? */
bool network_has(const struct grant *grant);

/* Of which line; -1: of none. */
int network_plugin(const struct grant *grant);

/* Is there no class yet with what is granted? Then the id that the answer will carry; granted again with network_follow, nobody waits. */
bool network_is_due(const struct reservation *reservation);
uint64_t network_shape(struct reservation *reservation);

/* After a grant has gone, or is back to what it was: its class and its thread's sockets, too. The kernel has refused: it has no class. */
void network_follow(struct reservation *reservation);
void network_failed(struct reservation *reservation);

/* The thread's sockets, and those that it opens later, belong to the reservation's class; or no longer. */
uint64_t network_bind(struct attachment *attachment);
void network_unbind(struct attachment *attachment);

#endif
