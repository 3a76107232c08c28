/* Shapes what an interface sends, with HTB (tc-htb(8)). The root qdisc is 5254:. Below the root is
 * one class for the capacity of the link. Below this class is one class for each reservation, with
 * a guaranteed rate, and with a share of the capacity that other classes leave. Beside these is one
 * class for all other traffic, with the lowest priority. A BPF program tells to which class a
 * packet belongs (tickets.h).
 *
 * The kernel does not check that the sum of the classes' rates fits into their parent's rate. The
 * plugin and the broker's ledger guarantee this. */
#ifndef RTF_SHAPING_H
#define RTF_SHAPING_H

#include <stdbool.h>
#include <stdint.h>

enum { SHAPING_REASON = 256, SHAPING_MAJOR = 0x5254, CLASS_LEAST = 0x10, CLASS_MOST = 0xfff0 };

/* Opens a netlink socket. False: errno says why. */
bool shaping_open(void);

/* True after an error of the netlink socket: the last request may be repeated. */
bool shaping_is_lost(void);

/* True if shaping_begin could set up the interface. Changes nothing. False: *reason. */
bool shaping_look(const char *interface, char reason[static SHAPING_REASON]);

/* Sets up the interface. capacity: in bytes per second. An interface that is set up already keeps
 * its classes; only the filter is replaced. program: the BPF program of the filter; -1: no socket
 * can be marked, and no filter is needed. False: *reason, for example because the interface has a
 * root qdisc of another program, which rtf does not change. */
bool shaping_begin(const char *interface, uint64_t capacity, int program,
                   char reason[static SHAPING_REASON]);

/* Makes or changes a class with the guaranteed `rate` and the maximum `capacity`, both in bytes per
 * second. is_new: the class may have no queue yet, and gets one. */
bool shaping_class(const char *interface, uint16_t class, bool is_new, uint64_t rate,
                   uint64_t capacity, char reason[static SHAPING_REASON]);

/* Removes the class. True if there is no such class. */
bool shaping_drop(const char *interface, uint16_t class, char reason[static SHAPING_REASON]);

/* Removes all classes of reservations for which `keep` returns false. */
bool shaping_settle(const char *interface, bool (*keep)(uint16_t class),
                    char reason[static SHAPING_REASON]);

/* Restores the kernel's default qdisc. Does nothing if the root qdisc is not rtf's. */
bool shaping_end(const char *interface, char reason[static SHAPING_REASON]);

#endif
