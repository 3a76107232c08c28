/* What an interface sends, shaped by HTB (tc-htb(8)): the root qdisc 5254:, in it one class of what may be promised of the link, and below that one
 * for each reservation, which has its rate for certain and may have what others leave, and one for everything else, which comes last. A BPF
 * program says which class a packet belongs to (tickets.h).
 *
 * The kernel does not compare the classes' rates with their parent's: that they fit together is the plugin's promise and the ledger's. */
#ifndef RTF_SHAPING_H
#define RTF_SHAPING_H

#include <stdbool.h>
#include <stdint.h>

enum { SHAPING_REASON = 256, SHAPING_MAJOR = 0x5254, CLASS_LEAST = 0x10, CLASS_MOST = 0xfff0 };

/* False with errno: nothing can be asked of the kernel. */
bool shaping_open(void);

/* Whether the kernel has not been heard as it should: what was asked last can be asked again. */
bool shaping_is_lost(void);

/* Whether shaping_begin would take the interface. Changes nothing. False: *reason. */
bool shaping_look(const char *interface, char reason[static SHAPING_REASON]);

/* Makes the interface ours, in bytes a second: what may be promised of it. What is ours already stays as it is, but for the filter, which is `program` from
 * now on (-1: no socket can be marked, and no filter is needed). False: *reason; an interface whose root qdisc somebody has set is left alone. */
bool shaping_begin(const char *interface, uint64_t capacity, int program, char reason[static SHAPING_REASON]);

/* A class with `rate` bytes a second for certain, up to `capacity` where others leave something. One that is there is changed; `is_new`: it may have no
 * queue of its own yet. */
bool shaping_class(const char *interface, uint16_t class, bool is_new, uint64_t rate, uint64_t capacity, char reason[static SHAPING_REASON]);

/* Removes it; one that is not there is no error. */
bool shaping_drop(const char *interface, uint16_t class, char reason[static SHAPING_REASON]);

/* Removes the classes that `keep` does not want. */
bool shaping_settle(const char *interface, bool (*keep)(uint16_t class), char reason[static SHAPING_REASON]);

/* The kernel's default again. Without our qdisc there it does nothing. */
bool shaping_end(const char *interface, char reason[static SHAPING_REASON]);

#endif
