/* Gives an attached thread what its reservation states beside CPU time, and takes it back
 * (extras.h).
 *
 * The request op=give states what the thread has from now on, with the lines of extras_add. An
 * absent thing is taken back. Other lines:
 *
 *     tid started_by process    the thread, and its process
 *     owner                     the uid of the reservation's owner; without it only takes back
 *     scheduled                 1: the thread's policy is of apply= and restore=
 *     former_nice               minus 20..19, plus 20; reset_on_fork: 1 if the thread had it before
 *     lock_was lock_is          bytes: what the reservations of the process ask for, before and now
 *     lock_soft lock_hard       the former limit; lock_since: before the first raise (clock ticks)
 *     held_latency              us: the least cpu_latency of all attached threads */
#ifndef RTF_GIVE_EXTRAS_H
#define RTF_GIVE_EXTRAS_H

#include "apply-result.h"
#include "paragraph.h"

enum apply_result give_extras(const struct paragraph *request, char reason[static APPLY_REASON]);

#endif
