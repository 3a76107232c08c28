/* Some programs, such as programs for sound, state only the priority of a thread. This is the
 * budget of such a thread. rtf-rtkit
 * and rtf preload ask for this budget. The rules as shipped grant the budget to five threads at a
 * time. */
#ifndef RTF_DEFAULT_BUDGET_H
#define RTF_DEFAULT_BUDGET_H

enum { DEFAULT_RUNTIME = 1000, DEFAULT_PERIOD = 10000 }; /* us */

#endif
