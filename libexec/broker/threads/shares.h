/* What a reservation has of interfaces and disks that are kept (allocators.h): it has a class with what it was promised, and its attached thread
 * belongs to that, by the sockets of its process or by its process as such. The class is there before the verdict says so; what is given up goes
 * without anybody waiting. A restart changes no class: it stands in the journal. */
#ifndef RTF_SHARES_H
#define RTF_SHARES_H

#include "allocators.h"
#include "reservation.h"

/* Of a grant of before: the class that it has had. Its shares are due. */
void shares_take_up(struct reservation *reservation, uint16_t class);

/* Has a thread a place there beside CPU time: in what is kept, or, without a guarantee, in what that leaves? */
bool shares_take_thread(const struct grant *grant);

/* Of which line the first is; -1: of none. */
int shares_plugin(const struct grant *grant);

/* Is there one that is not kept yet as it is granted? Then the id that the answer will carry, of the first; granted again with shares_follow, nobody
 * waits. */
bool shares_are_due(const struct reservation *reservation);
uint64_t shares_keep(struct reservation *reservation);

/* After a grant has gone, or is back to what it was: its class and its thread, too. The kernel has refused: nothing is known to be kept. */
void shares_follow(struct reservation *reservation);
void shares_failed(struct reservation *reservation);

/* To that message, for whose answer nobody waited. Where it was refused, somebody may have more than he is granted, and others less: it is said again in
 * a second, and less often the longer it is refused. */
void shares_answered(uint64_t id, bool good);

/* The attached thread belongs to the reservation's class, and what it starts or opens later; or no longer. One helper at a time. */
bool shares_bind_is_due(const struct attachment *attachment);

/* Before that is written down: what it will have to get back. */
void shares_note_former(struct attachment *attachment);
uint64_t shares_bind(struct attachment *attachment);
void shares_unbind(struct attachment *attachment);

/* What an attached thread has of them, as a sentence. */
const char *shares_in_words(const struct grant *grant);

/* The helper knows no class and no thread any more. */
void shares_say_again(enum kept kept);

#endif
