/* The former attributes of a thread, and its former share and limit of locked memory. The journal
 * has them before the helper changes the thread, so that each later broker can restore them. */
#ifndef RTF_FORMER_ATTRIBUTES_H
#define RTF_FORMER_ATTRIBUTES_H

#include "request.h"

/* Writes the reservation with its attached thread into the journal. False with errno. */
bool former_attributes_record(struct request *request);

#endif
