/* A program file may state things for a whole process, such as lock_memory or a claim on a disk.
 * Then the reservation of the first thread of each process has these things. */
#ifndef RTF_READER_WHOLE_PROCESS_H
#define RTF_READER_WHOLE_PROCESS_H

#include "program.h"

/* True: the row is of the first thread of a process, and this thread has not ended. */
bool is_first_thread(const struct row *row);

/* Adds what the file states for the whole process to the spec of the first thread. */
void whole_process_add(const struct spec *whole, struct spec *spec);

#endif
