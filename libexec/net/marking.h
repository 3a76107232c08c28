/* Marks the sockets of attached threads' processes, so that the interface can tell the packets of
 * attached threads from other packets. A mark (SO_MARK of socket(7)) names the class of the
 * thread's reservation (shaping.h), and a marked socket also gets the class's ticket (tickets.h).
 * Existing sockets are marked at once. A BPF program at the root of the cgroups marks the sockets
 * that the thread opens later: the program looks up the thread's id in a map. A connection accepted
 * by a marked socket has the mark and the ticket, too.
 *
 * Attack: marking a socket waits for its lock, and the owner can hold the lock as long as they
 * like, with a sendmsg(2) from a page that never arrives. Closing a descriptor may take as long, if
 * the descriptor is a file of the owner's own file system. Therefore a child process does the work.
 * After 300 ms the parent goes on without the child, and until that child has ended nothing more is
 * marked for this owner. */
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

/* Marks the sockets of the thread's process, and the sockets that the thread opens later. Only IPv4
 * and IPv6 sockets of the owner that have no foreign mark are marked. MARKING_GONE: the thread has
 * ended. MARKING_REFUSED: *reason. */
enum marking marking_bind(pid_t tid, uint64_t started_by, uid_t owner, uint32_t mark,
                          char reason[static MARKING_REASON]);

/* Removes the mark from the sockets. If the thread has ended, only removes the thread's id from the
 * map of the BPF program. */
enum marking marking_unbind(pid_t tid, uint64_t started_by, uint32_t mark,
                            char reason[static MARKING_REASON]);

#endif
