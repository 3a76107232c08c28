/* Gives an attached thread the extras of its reservation, which are the things beside CPU time
 * (extras.h), and takes them back.
 *
 * The request op=give states the extras that the thread has from now on, with the lines of
 * extras_add. An extra without a line is taken back. Other lines:
 *
 *     tid started_by process    the thread, and its process
 *     owner                     the reservation's owner (uid); without owner=, only takes back
 *     scheduled                 1: op=apply and op=restore set the thread's policy
 *     former_nice               the nice value before, plus 20; reset_on_fork: 1 if it was set
 *     lock_was lock_is          bytes that the reservations of the process ask for, before and now
 *     lock_soft lock_hard       the limit before the first raise; lock_since: a time before (ticks)
 *     held_latency              us: the least cpu_latency of all attached threads */
#ifndef RTF_GIVE_EXTRAS_H
#define RTF_GIVE_EXTRAS_H

#include "apply-result.h"
#include "paragraph.h"

enum apply_result give_extras(const struct paragraph *request, char reason[static APPLY_REASON]);

#endif
