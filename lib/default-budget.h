/* The runtime and period for a thread whose program states only a priority, as programs for sound
 * do. rtf-rtkit and rtf preload ask for this runtime and period. The shipped rules grant them to
 * five threads at a time. */
#ifndef RTF_DEFAULT_BUDGET_H
#define RTF_DEFAULT_BUDGET_H

enum { DEFAULT_RUNTIME = 1000, DEFAULT_PERIOD = 10000 }; /* us */

#endif
