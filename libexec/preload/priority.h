/* Computes the priority to ask for, where the rules allow only lower priorities than the program
 * wants. */
#ifndef RTF_PRELOAD_PRIORITY_H
#define RTF_PRELOAD_PRIORITY_H

/* The priority, at most `most`, to ask for instead of a program's priority (1 to 99). Never
 * reverses the order of two priorities. */
int priority_within(int priority, int most);

#endif
