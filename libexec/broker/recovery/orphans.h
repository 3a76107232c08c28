/* An orphan is a thread that the journal names, but that no reservation has any more. At the start
 * of a broker, each orphan gets its former attributes back. */
#ifndef RTF_ORPHANS_H
#define RTF_ORPHANS_H

struct recorded_reservation;
struct recorded_state;

/* Gives the thread of a record its former attributes, if no reservation has the thread any more. */
void orphan_restore(struct recorded_reservation *recorded);

/* Gives orphans that have called execve(2), and so have another thread id now, their former
 * attributes back. Call this after all records are taken over, because such a thread can be
 * distinguished from the other threads of its process only when all attached threads are known. */
void orphans_follow(const struct recorded_state *state);

#endif
