/* The first reservation of a program file is for all threads or for none (programs.h). */
#ifndef RTF_READER_FIRST_RESERVATION_H
#define RTF_READER_FIRST_RESERVATION_H

#include "program.h"

/* Once the broker has answered for all rows: goes to the next state of the reservation for all
 * threads together (programs.h). */
void program_advance(struct program *program);

#endif
