/* A command of rtf-every(1) that runs once a period, each time as a new process. */
#ifndef RTF_EVERY_COMMAND_H
#define RTF_EVERY_COMMAND_H

/* Returns the exit status of rtf-every. */
int every_run_command(void);

#endif
