/* The end of a broker. */
#ifndef RTF_LAY_DOWN_H
#define RTF_LAY_DOWN_H

/* lay_down, at SIGTERM: every thread gets its former attributes back, and the kernel gets its
 * settings back. Reservations and grants stay in the journal for the next start. leave_in_force, at
 * SIGINT: everything stays in force. */
void lay_down(void);
void leave_in_force(void);

#endif
