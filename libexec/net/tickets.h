/* What the kernel knows of sockets and classes: two BPF programs and their maps.
 *
 * A mark names a class by its number, and numbers come back. So each class also has a ticket, a number of 64 bits that never comes back. A socket that is
 * marked is given the ticket of its class (BPF_MAP_TYPE_SK_STORAGE). One program marks the sockets that attached threads open. The other program is the
 * interface's filter: a packet belongs to the class that its mark names only if its socket has the ticket that the class has now. A socket that somebody
 * kept past the end of its reservation is as any other, whoever has the number now.
 *
 * The maps and the first program end with this process, by whatever that ends; the filter stays with the interface, and its maps with the filter. */
#ifndef RTF_TICKETS_H
#define RTF_TICKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TICKETS_OURS = 0x5254 /* the upper half of each mark of ours */, BOUND_MOST = 65536 };

/* Loads all. NULL: done; else what failed, and errno. Needs CAP_BPF and CAP_NET_ADMIN, of which the first may go then. */
const char *tickets_open(void);

/* The filter's program; -1: there is none. */
int tickets_filter(void);

/* The ticket that the class has. A class that has none is given one. 0 with errno: the kernel has no room. */
uint64_t tickets_of(uint16_t class);

/* The class ends. Nobody has its ticket again. */
void tickets_end(uint16_t class);

/* What sockets the thread opens from now on have this mark and this ticket, as long as the thread's uid is `uid`. */
bool tickets_remember(pid_t tid, uid_t uid, uint32_t mark, uint64_t ticket);
void tickets_forget(pid_t tid);

/* Of a socket that is there. Neither allocates memory of this process. */
bool tickets_give(int fd, uint64_t ticket);
void tickets_take(int fd);

#endif
