/* The loop of rtf-every --loop: one process, which reads a line on its standard input at each
 * activation. */
#ifndef RTF_EVERY_LOOP_H
#define RTF_EVERY_LOOP_H

/* Returns the exit status of rtf-every. */
int every_run_loop(void);

#endif
