/* What a process may have of a disk: a cgroup for each reservation, beneath one that has the weight 1000 beside 1 of everything else. In it a
 * reservation has the share of its claim as its weight, and may read, and write, a quarter more than it asked for, in bytes and in blocks: exactly so
 * much would make it late, and without a bound one that is greedy takes the others' time.
 *
 * Everything else means what is in the root, where each process would be a rival of its own: that goes into a group, too, but for the kernel's
 * threads; and the other groups there get the weight 1 on this disk, those that have none of their own.
 *
 * Where a process came from stands on its reservation's group, as an extended attribute: it is there before the process is. So does, before anybody
 * leaves it, that a group is to go: one that could not be emptied is nobody else's, though rtf-disk is another by then. */
#ifndef RTF_GROUPS_H
#define RTF_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"

enum { GROUPS_REASON = 256, CLASS_LEAST = 0x10, CLASS_MOST = 0xffff };

/* Finds the hierarchy. False: *reason. *mount is where it is. */
bool groups_open(char mount[static GROUP_BYTES], char reason[static GROUPS_REASON]);

/* From here on no other process can; false: one does, and *reason. All that is below is for who holds them. */
bool groups_hold(char reason[static GROUPS_REASON]);

/* This disk, by its number, is divided by the groups' weights from now on; its scheduler is bfq. */
bool groups_begin(const char *number, char reason[static GROUPS_REASON]);
void groups_end(const char *number);

/* A group with so much of the disk: rate in bytes a second, block in bytes, share in billionths. */
bool groups_class(uint16_t class, const char *number, uint64_t rate, uint64_t block, uint64_t share, char reason[static GROUPS_REASON]);

/* Whoever is in it goes back to where the first came from, and it goes. False with errno, ETIMEDOUT if processes are started there faster than they
 * can be moved: it stays until they have ended, without a weight. */
bool groups_drop(uint16_t class, char reason[static GROUPS_REASON]);
bool groups_settle(bool (*keep)(uint16_t class), char reason[static GROUPS_REASON]);

/* No group of ours is left. */
bool groups_dissolve(char reason[static GROUPS_REASON]);

/* The thread's process belongs to it, if it is its user's own in all its threads (root's may be anybody's); with whom it starts later. Or nobody
 * does; ETIMEDOUT as above. */
enum binding { BOUND, BINDING_GONE, BINDING_REFUSED };
enum binding groups_bind(uint16_t class, pid_t tid, uint64_t started_by, uid_t owner, char reason[static GROUPS_REASON]);
enum binding groups_unbind(uint16_t class, char reason[static GROUPS_REASON]);

#endif
