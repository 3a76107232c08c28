/* Whose packets are whose: the sockets of an attached thread's process are given a mark, SO_MARK of socket(7), which names the class of the thread's
 * reservation (shaping.h), and the class's ticket (tickets.h). Sockets that are there are marked at once. Sockets that the thread opens later are marked by a
 * BPF program at the root of the cgroups, which looks the thread's id up in a map. What a marked socket accepts has mark and ticket, too.
 *
 * To mark a socket is to wait for whoever holds it: its owner can do that for as long as he likes, in a sendmsg(2) from a page that never comes; and
 * to close a descriptor that turns out to be a file of his own file system may take as long. So a child does it, which is left alone when it is late (300 ms),
 * and as long as it has not ended nothing more is marked for its owner. */
#ifndef RTF_MARKING_H
#define RTF_MARKING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MARKING_REASON = 256, DESCRIPTORS_MOST = 4096 };

/* Loads the program. False: *reason. Needs CAP_BPF and CAP_NET_ADMIN, of which the first may go then. */
bool marking_open(char reason[static MARKING_REASON]);

enum marking { MARKED, MARKING_GONE, MARKING_REFUSED };

/* From now on the thread's sockets have `mark`, if they are its user's own, of IPv4 or IPv6, and have no mark of somebody else. */
enum marking marking_bind(pid_t tid, uint64_t started_by, uid_t owner, uint32_t mark, char reason[static MARKING_REASON]);

/* They have none; of a thread that has ended there is nothing left to do but to forget it. */
enum marking marking_unbind(pid_t tid, uint64_t started_by, uint32_t mark, char reason[static MARKING_REASON]);

#endif
