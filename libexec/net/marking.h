/* Marks the sockets of attached threads' processes, so that the interface can tell the packets of
 * attached threads from other packets. A mark (SO_MARK of socket(7)) is the number of the class of
 * the thread's reservation (shaping.h). A marked socket also gets the ticket of the class
 * (tickets.h). Existing sockets are marked at once. A BPF program at the root of the cgroups marks
 * the sockets that the thread opens later: the program looks up the thread's id in a map. A
 * connection accepted by a marked socket has the mark and the ticket, too.
 *
 * Attack: to mark a socket, rtf-net has to wait for the lock of the socket. The owner can hold this
 * lock as long as they like, with a sendmsg(2) from a page that never arrives. Closing a descriptor
 * may take as long, if the descriptor is a file of the owner's own file system. Therefore a child
 * process marks the sockets. After 300 ms the parent goes on without the child. Until this child
 * has ended, rtf-net marks no further socket for this owner. */
#ifndef RTF_MARKING_H
#define RTF_MARKING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MARKING_REASON = 256, DESCRIPTORS_MOST = 4096 };

/* Loads the BPF program. False: *reason. Needs CAP_BPF and CAP_NET_ADMIN; CAP_BPF may be dropped
 * afterwards. */
bool marking_open(char reason[static MARKING_REASON]);

enum marking { MARKED, MARKING_GONE, MARKING_REFUSED };

/* Marks the sockets of the thread's process, and the sockets that the thread opens later. Marks
 * only IPv4 and IPv6 sockets that belong to the owner, and leaves sockets alone that have a mark of
 * another program. MARKING_GONE: the thread has ended. MARKING_REFUSED: *reason. */
enum marking marking_bind(pid_t tid, uint64_t started_by, uid_t owner, uint32_t mark,
                          char reason[static MARKING_REASON]);

/* Removes the mark from the sockets. If the thread has ended, only removes the thread's id from the
 * map of the BPF program. */
enum marking marking_unbind(pid_t tid, uint64_t started_by, uint32_t mark,
                            char reason[static MARKING_REASON]);

#endif
