/* The former attributes of a thread, its former I/O priority, and its former limit of locked
 * memory. The broker writes them into the journal before a helper changes the thread, so that the
 * next broker can restore them after a crash. */
#ifndef RTF_FORMER_ATTRIBUTES_H
#define RTF_FORMER_ATTRIBUTES_H

#include "request.h"

/* Writes the reservation with its attached thread into the journal. False: errno says why. */
bool former_attributes_record(struct request *request);

#endif
