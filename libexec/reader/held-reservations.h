/* A program file with "hold" keeps the reservation of a thread that has ended. A later thread of the
 * same rule takes the reservation over. */
#ifndef RTF_READER_HELD_RESERVATIONS_H
#define RTF_READER_HELD_RESERVATIONS_H

#include "program.h"

/* Returns the row of this thread, whose name matches this rule. A new thread gets the row of a held
 * reservation if there is one. */
struct row *row_for_thread(struct program *program, pid_t tid, int rule);

/* row_gone is for a thread that has ended: its reservation ends or is held. rows_gone: all threads
 * have ended. These functions may free rows. */
void row_gone(struct program *program, struct row *row);
void rows_gone(struct program *program);

#endif
