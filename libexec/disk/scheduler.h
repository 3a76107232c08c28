/* Sets the I/O scheduler of a disk to BFQ, the only scheduler of Linux that divides a disk's time
 * by weights. With strict_guarantees=1, BFQ keeps to the weights. Without this setting, streams
 * that keep the disk busy take several times their share. low_latency=0 switches BFQ's own
 * heuristics off. */
#ifndef RTF_SCHEDULER_H
#define RTF_SCHEDULER_H

#include <stdbool.h>

enum { SCHEDULER_REASON = 256, DISK_NUMBER = 24 };

/* Finds the number of the disk, in the form that cgroup files have: "8:0". False: there is no such
 * disk, or it is a partition. */
bool scheduler_number(const char *disk, char number[static DISK_NUMBER]);

/* True if a disk has that name and a scheduler that can be chosen. False: *reason. */
bool scheduler_look(const char *disk, char reason[static SCHEDULER_REASON]);

/* Sets the scheduler and its options, unless they are set already. False: *reason. */
bool scheduler_begin(const char *disk, char reason[static SCHEDULER_REASON]);

/* Restores the former state of a disk. former: "sda=mq-deadline", "sda=bfq,1,0", or "sda" if the
 * former state is not known. Returns true also if the disk is gone. False: *reason. */
bool scheduler_end(const char *former, char reason[static SCHEDULER_REASON]);

#endif
