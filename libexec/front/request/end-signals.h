/* The signals SIGINT, SIGTERM and SIGHUP end a measurement, and not the whole command. So the
 * command still prints its result. */
#ifndef RTF_END_SIGNALS_H
#define RTF_END_SIGNALS_H

/* Returns a descriptor that becomes readable when SIGINT, SIGTERM or SIGHUP comes. -1: errno says
 * why. */
int end_signals_open(void);

/* Takes the signal that has ended the measurement. From then on a signal ends the process. */
void end_signals_close(int fd);

#endif
