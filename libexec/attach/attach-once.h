/* Serves rtf-attach when a person calls the program, without a broker. */
#ifndef RTF_ATTACH_ONCE_H
#define RTF_ATTACH_ONCE_H

#include "paragraph.h"

/* Makes the thread of the paragraph real-time, and prints its former attributes. Returns an exit
 * status of sysexits(3). */
int attach_once(const struct paragraph *words);

/* Reports whether SCHED_DEADLINE threads can be on these CPUs now. Returns an exit status. */
int attach_once_probe(const char *list);

#endif
