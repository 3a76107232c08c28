/* Loads the two BPF programs that tell the packets of reservations from other packets, and makes
 * their maps of sockets and classes.
 *
 * A mark (marking.h) is the number of a class, and numbers of classes are reused. So each class
 * also has a ticket: a 64-bit number that is never reused. A marked socket gets the ticket of its
 * class (BPF_MAP_TYPE_SK_STORAGE). The first program marks the sockets that attached threads open.
 * The second program is the interface's filter: a packet belongs to the class of its mark only if
 * the socket's ticket is the class's present ticket. So a socket that a process keeps after the end
 * of its reservation counts as unmarked, even when another reservation has got the number of the
 * class.
 *
 * The maps and the first program end with this process, however it ends. The filter stays with the
 * interface, and the filter's maps stay with the filter. */
#ifndef RTF_TICKETS_H
#define RTF_TICKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { BOUND_MOST = 65536 };

/* Loads the programs and makes the maps. Returns NULL, or after an error a sentence about the step
 * that failed, with errno. Needs CAP_BPF and CAP_NET_ADMIN; CAP_BPF may be dropped afterwards. */
const char *tickets_open(void);

/* Returns the descriptor of the filter's program; -1: no program is loaded. */
int tickets_filter(void);

/* Returns the present ticket of the class; a class without a ticket gets a new ticket. 0 with
 * errno: the kernel's map is full. */
uint64_t tickets_of(uint16_t class);

/* Ends the class's ticket. No other class will have the same ticket. */
void tickets_end(uint16_t class);

/* Gives this mark and ticket to all sockets that the thread opens from now on, while the thread's
 * uid is `uid`. */
bool tickets_remember(pid_t tid, uid_t uid, uint32_t mark, uint64_t ticket);
void tickets_forget(pid_t tid);

/* tickets_give sets the ticket of an existing socket, and tickets_take removes the ticket. Neither
 * function allocates memory. */
bool tickets_give(int fd, uint64_t ticket);
void tickets_take(int fd);

#endif
