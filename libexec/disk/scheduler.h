/* How a disk hands out its time: BFQ, the only I/O scheduler of Linux that divides it by weights, told to keep to them (strict_guarantees=1) and to
 * favour nobody by its own guess (low_latency=0). Without the first, streams that keep the disk busy take several times their share. */
#ifndef RTF_SCHEDULER_H
#define RTF_SCHEDULER_H

#include <stdbool.h>

enum { SCHEDULER_REASON = 256, DISK_NUMBER = 24 };

/* Its number as cgroups name it, "8:0". False: there is no such whole disk. */
bool scheduler_number(const char *disk, char number[static DISK_NUMBER]);

/* Whether there is a disk of that name with a scheduler that can be chosen. False: *reason. */
bool scheduler_look(const char *disk, char reason[static SCHEDULER_REASON]);

/* Makes it so; what is so already stays. False: *reason. */
bool scheduler_begin(const char *disk, char reason[static SCHEDULER_REASON]);

/* How it was before: "sda=mq-deadline", "sda=bfq,1,0", "sda" where that is not known. A disk that is no longer there has nothing to be put back. */
bool scheduler_end(const char *former, char reason[static SCHEDULER_REASON]);

#endif
